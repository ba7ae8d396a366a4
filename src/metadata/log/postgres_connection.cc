#include "metadata/log/postgres_connection.h"

#include "runtime/log.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <charconv>

namespace weir::metadata {
namespace {

using boost::asio::posix::descriptor_base;

// libpq's connect_timeout, in seconds; 0: not given.
std::chrono::seconds connect_timeout(PGconn* connection) {
  const std::string text = pg_option(connection, "connect_timeout");
  int seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::chrono::seconds(std::max(seconds, 0));
}

// libpq itself would write to stderr.
void log_notice(void* /*argument*/, const char* message) {
  log::debug("metadata.postgres.notice", {{"message", message}});
}

}  // namespace

PostgresConnection::PostgresConnection(Executor executor, Clock& clock, Duration patience)
    : executor_(std::move(executor)),
      clock_(clock),
      patience_(patience),
      deadline_(clock, executor_, [this] { passed(); }) {}

PostgresConnection::~PostgresConnection() {
  if (socket_) socket_->release();
}

Task<Status> PostgresConnection::open(PostgresTarget& target) {
  WEIR_CO_TRY(connection_, target.start());
  PQsetNoticeProcessor(connection_.get(), log_notice, nullptr);
  const Duration given = connect_timeout(connection_.get());
  connecting_ = true;
  deadline_.set(clock_.now() + (given > Duration::zero() ? given : patience_));
  Status opened = co_await poll_until_open();
  connecting_ = false;
  deadline_.clear();
  if (!opened) {
    if (timed_out_) target.rotate_hosts(connection_.get());
    co_return opened;
  }
  if (PQsetnonblocking(connection_.get(), 1) != 0 || PQenterPipelineMode(connection_.get()) != 1) {
    co_return std::unexpected(broken());
  }
  socket_.emplace(executor_, PQsocket(connection_.get()));
  start_reading();
  co_return Status();
}

Task<Status> PostgresConnection::poll_until_open() {
  PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;
  while (wanted != PGRES_POLLING_OK) {
    if (wanted == PGRES_POLLING_FAILED) co_return std::unexpected(broken());
    WEIR_CO_CHECK(co_await wait_ready(wanted));
    wanted = PQconnectPoll(connection_.get());
  }
  co_return Status();
}

// The socket may be another one after each poll: libpq tries one address after the other.
Task<Status> PostgresConnection::wait_ready(PostgresPollingStatusType wanted) {
  if (!timed_out_ && !closed_) {
    socket_.emplace(executor_, PQsocket(connection_.get()));
    const auto kind =
        wanted == PGRES_POLLING_READING ? descriptor_base::wait_read : descriptor_base::wait_write;
    boost::system::error_code error;
    co_await socket_->async_wait(kind,
                                 boost::asio::redirect_error(boost::asio::use_awaitable, error));
    if (socket_) socket_->release();
    socket_.reset();
  }
  if (closed_) co_return fail(ErrorCode::kCancelled, "postgres: the connection is given up");
  if (!timed_out_) co_return Status();
  co_return fail(ErrorCode::kTimeout,
                 fmt::format("postgres: no answer to the attempt to connect to {}",
                             PQhost(connection_.get())));
}

void PostgresConnection::passed() {
  if (!connecting_) {
    lose({ErrorCode::kTimeout,
          fmt::format("postgres: {} does not answer for {} ms", PQhost(connection_.get()),
                      std::chrono::duration_cast<std::chrono::milliseconds>(patience_).count())});
    return;
  }
  timed_out_ = true;
  if (socket_) socket_->cancel();
}

void PostgresConnection::set_deadline() {
  if (sent_.empty()) {
    deadline_.clear();
  } else {
    deadline_.set(clock_.now() + patience_);
  }
}

Error PostgresConnection::broken() const {
  return {ErrorCode::kUnavailable, pg_error_text(connection_.get())};
}

bool PostgresConnection::send_step(const PgStep& step) {
  PGconn* const to = connection_.get();
  constexpr int kBinary = 1;
  std::vector<const char*> values;
  std::vector<int> lengths;
  for (const auto& value : step.params.values()) {
    // Not null even where there are no bytes, which would be NULL.
    values.push_back(value.empty() ? "" : reinterpret_cast<const char*>(value.data()));
    lengths.push_back(static_cast<int>(value.size()));
  }
  const std::vector<int> formats(values.size(), kBinary);
  const int count = static_cast<int>(values.size());
  switch (step.kind) {
    case PgStep::Kind::kPrepare:
      return PQsendPrepare(to, step.name.c_str(), step.what.c_str(), 0, nullptr) == 1;
    case PgStep::Kind::kPrepared:
      return PQsendQueryPrepared(to, step.name.c_str(), count, values.data(), lengths.data(),
                                 formats.data(), kBinary) == 1;
    case PgStep::Kind::kStatement:
      break;
  }
  return PQsendQueryParams(to, step.what.c_str(), count, nullptr, values.data(), lengths.data(),
                           formats.data(), kBinary) == 1;
}

void PostgresConnection::send(PgBatch batch) {
  if (closed_) {
    batch.done(fail(ErrorCode::kUnavailable, "postgres: the connection is closed"));
    return;
  }
  Sent& sent = sent_.emplace_back();
  sent.done = std::move(batch.done);
  if (sent_.size() == 1) set_deadline();
  bool good = true;
  for (const PgStep& step : batch.steps) {
    good = good && send_step(step);
    if (step.commit == PgStep::Commit::kNotYet) continue;
    good = good && PQpipelineSync(connection_.get()) == 1;
    ++sent.commits;
  }
  if (good) {
    flush();
  } else {
    lose(broken());
  }
}

Task<Result<PgAnswer>> PostgresConnection::ask(std::vector<PgStep> steps) {
  OneShot<Result<PgAnswer>> done;
  send({.steps = std::move(steps),
        .done = [done](Result<PgAnswer> answer) mutable { done.set(std::move(answer)); }});
  co_return co_await done.wait();
}

void PostgresConnection::flush() {
  if (closed_ || waits_to_write_) return;
  const int left = PQflush(connection_.get());
  if (left == 0) return;
  if (left < 0) {
    lose(broken());
    return;
  }
  waits_to_write_ = true;
  socket_->async_wait(descriptor_base::wait_write,
                      [self = shared_from_this()](const boost::system::error_code&) {
                        self->waits_to_write_ = false;
                        self->flush();
                      });
}

void PostgresConnection::start_reading() {
  socket_->async_wait(descriptor_base::wait_read,
                      [self = shared_from_this()](const boost::system::error_code&) {
                        if (!self->closed_) self->on_readable();
                      });
}

void PostgresConnection::on_readable() {
  if (PQconsumeInput(connection_.get()) == 0) {
    lose(broken());
    return;
  }
  read_answers();
  if (closed_) return;
  tell_notifications();
  set_deadline();
  flush();
  if (!closed_) start_reading();
}

// libpq puts a null between the results of two statements, and gives nothing else when there is
// nothing left.
void PostgresConnection::read_answers() {
  int nulls = 0;
  while (!closed_ && !sent_.empty() && nulls < 2 && PQisBusy(connection_.get()) == 0) {
    PgRows rows(PQgetResult(connection_.get()));
    nulls = rows ? 0 : nulls + 1;
    if (rows) take(std::move(rows));
  }
}

void PostgresConnection::take(PgRows rows) {
  Sent& front = sent_.front();
  const ExecStatusType status = PQresultStatus(rows.get());
  if (status == PGRES_PIPELINE_SYNC) {
    if (--front.commits > 0) return;
    Sent ended = std::move(front);
    sent_.pop_front();
    ended.done(ended.error ? Result<PgAnswer>(std::unexpected(*std::move(ended.error)))
                           : Result<PgAnswer>(std::move(ended.answer)));
    return;
  }
  if (status == PGRES_FATAL_ERROR) {
    Error error = pg_error(rows.get());
    if (pg_is_fatal(rows.get())) {
      lose(std::move(error));
      return;
    }
    if (!front.error) front.error = std::move(error);
  }
  front.answer.push_back(std::move(rows));
}

void PostgresConnection::tell_notifications() {
  struct Free {
    void operator()(PGnotify* notification) const { PQfreemem(notification); }
  };
  while (true) {
    const std::unique_ptr<PGnotify, Free> one(PQnotifies(connection_.get()));
    if (!one) return;
    if (on_notify_) on_notify_(one->extra);
  }
}

void PostgresConnection::lose(Error error) {
  auto tell = std::exchange(on_lost_, nullptr);
  close(error);
  if (tell) tell(std::move(error));
}

void PostgresConnection::close(Error error) {
  if (closed_) return;
  const auto self = weak_from_this().lock();  // what is called here may let go of this
  closed_ = true;
  deadline_.clear();
  on_lost_ = nullptr;
  if (socket_) socket_->release();
  socket_.reset();
  if (!connecting_) connection_.reset();
  auto sent = std::exchange(sent_, {});
  for (Sent& one : sent) one.done(std::unexpected(error));
}

}  // namespace weir::metadata
