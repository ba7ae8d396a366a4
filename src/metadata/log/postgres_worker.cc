#include "metadata/log/postgres_worker.h"

#include "metadata/log/log_rules.h"
#include "metadata/log/postgres_schema.h"
#include "metadata/log/postgres_session.h"
#include "runtime/backoff.h"
#include "runtime/log.h"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weir::metadata {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kRetryBase = milliseconds(50);
constexpr Duration kRetryCap = seconds(1);

// What the server may still be answering. Two groups: the next one is there when the server has
// made one durable, and what comes meanwhile is joined.
constexpr std::size_t kMaxInFlight = 16;
constexpr int kMaxGroupsInFlight = 2;
constexpr std::size_t kMaxCalls = 1024;

Error stopping() { return {ErrorCode::kCancelled, "the metadata log is closed"}; }

}  // namespace

PostgresLog::Worker::Worker(PostgresTarget target, Clock& clock, PostgresOptions options)
    : options_(options), clock_(clock), work_(loop_.get_executor()), target_(std::move(target)) {
  group_.spawn(loop_.get_executor(), run());
  group_.spawn(loop_.get_executor(), poll());
  thread_ = std::thread([this] { loop_.run(); });
}

PostgresLog::Worker::~Worker() {
  boost::asio::post(loop_, [this] {
    group_.stop();
    somebody_waits_.notify();
    changed_.notify();
    if (connection_) connection_->close(stopping());
    work_.reset();
  });
  thread_.join();
}

std::optional<Error> PostgresLog::Worker::admit() const {
  if (!down_) return std::nullopt;
  return Error{ErrorCode::kUnavailable, down_->message};
}

Task<Result<Appended>> PostgresLog::Worker::append(Slice entry, Position known,
                                                   std::uint64_t incarnation) {
  WEIR_CO_CHECK(check_append(entry, known));
  OneShot<Result<Appended>> done;
  {
    std::lock_guard lock(mutex_);
    if (auto refused = admit()) co_return std::unexpected(*refused);
    if (incarnation != incarnation_) {
      co_return fail(ErrorCode::kUnavailable, "postgres was connected to again meanwhile");
    }
    WEIR_CO_CHECK(appends_.push({std::move(entry), known, done}));
  }
  boost::asio::post(loop_, [this] { pump(); });
  co_return co_await done.wait();
}

Task<Result<PgAnswer>> PostgresLog::Worker::ask(std::vector<PgStep> steps, bool begins) {
  OneShot<Result<PgAnswer>> done;
  {
    std::lock_guard lock(mutex_);
    if (auto refused = admit()) co_return std::unexpected(*refused);
    if (calls_.size() >= kMaxCalls) {
      co_return fail(ErrorCode::kThrottled,
                     fmt::format("{} calls wait for postgres", calls_.size()));
    }
    calls_.push_back({.steps = std::move(steps), .begins = begins, .done = done});
  }
  boost::asio::post(loop_, [this] { pump(); });
  co_return co_await done.wait();
}

Task<Result<Position>> PostgresLog::Worker::tail() {
  WEIR_CO_TRY(const PgAnswer answer, co_await ask({PgStep::run(kPgTail)}));
  co_return answer.empty() ? 0 : pg_integer(answer[0], 0, 0);
}

Task<void> PostgresLog::Worker::wait_past(Position position, MonoTime deadline) {
  if (waiting_++ == 0) somebody_waits_.notify();
  co_await watch_.wait_past(position, clock_, deadline);
  --waiting_;
}

Task<void> PostgresLog::Worker::poll() {
  while (!group_.stopping()) {
    if (waiting_ == 0) {
      co_await somebody_waits_.wait();
      continue;
    }
    if (!co_await group_.sleep(clock_, options_.poll_interval)) break;
    if (waiting_ == 0) continue;
    if (auto tail = co_await this->tail()) watch_.set(*tail);
  }
}

void PostgresLog::Worker::pump() {
  if (!up_) changed_.notify();
  while (connection_ && connection_->in_flight() < kMaxInFlight && (send_call() || send_group())) {
  }
}

bool PostgresLog::Worker::send_call() {
  std::optional<Call> call;
  {
    std::lock_guard lock(mutex_);
    if (!up_ || calls_.empty()) return false;
    call.emplace(std::move(calls_.front()));
    calls_.pop_front();
  }
  auto answer = [this, done = call->done](Result<PgAnswer> result) mutable {
    done.set(std::move(result));
    boost::asio::post(loop_, [this] { pump(); });
  };
  connection_->send({.steps = std::move(call->steps), .done = std::move(answer)});
  return true;
}

bool PostgresLog::Worker::send_group() {
  if (groups_in_flight_ >= kMaxGroupsInFlight) return false;
  std::optional<AppendGroup> group;
  {
    std::lock_guard lock(mutex_);
    if (!up_ || appends_.empty()) return false;
    group.emplace(AppendGroup(appends_.take_group()));
  }
  ++groups_in_flight_;
  auto steps = group->steps();
  auto answer = [this, group = *std::move(group)](const Result<PgAnswer>& result) mutable {
    --groups_in_flight_;
    if (auto last = group.settle(result)) watch_.raise(*last);
    boost::asio::post(loop_, [this] { pump(); });
  };
  connection_->send({.steps = std::move(steps), .done = std::move(answer)});
  return true;
}

void PostgresLog::Worker::go_down(const Error& reason) {
  std::deque<Call> calls;
  std::vector<PendingAppend> appends;
  {
    std::lock_guard lock(mutex_);
    up_ = false;
    down_ = reason;
    calls.swap(calls_);
    appends = appends_.take_all();
  }
  // Nothing of these was sent.
  const Error unsent{ErrorCode::kUnavailable, reason.message};
  for (Call& call : calls) call.done.set(std::unexpected(unsent));
  fail_all(appends, unsent);
}

void PostgresLog::Worker::end_first_attempt(const Status& status) {
  if (!std::exchange(first_attempt_ended_, true)) first_attempt_.set_value(status);
}

Task<Result<bool>> PostgresLog::Worker::connect() {
  auto connection =
      std::make_shared<PostgresConnection>(loop_.get_executor(), clock_, options_.patience);
  lost_.reset();
  connection_ = connection;  // so that the end of the log ends the attempt
  WEIR_CO_CHECK(co_await connection->open(target_));
  connection->on_notify([this](std::string_view payload) {
    Position tail = 0;
    std::from_chars(payload.data(), payload.data() + payload.size(), tail);
    watch_.raise(tail);
  });
  connection->on_lost([this](const Error& error) {
    lost_ = error;
    go_down(error);
    changed_.notify();
  });
  const auto missing = incarnation_ == 0 ? PgMissing::kLeave : PgMissing::kFail;
  WEIR_CO_TRY(const bool begun, co_await begin_session(missing));
  if (!begun && options_.missing == MissingLog::kFail) {
    co_return fail(ErrorCode::kInvalid,
                   "postgres: the database holds no metadata log: give the one that brokers write "
                   "(their metadata.log.url)");
  }
  co_return begun;
}

Task<Result<bool>> PostgresLog::Worker::begin_session(PgMissing missing) {
  const auto connection = connection_;
  WEIR_CO_TRY(const std::optional<Position> tail,
              co_await pg_begin_session(*connection, options_, missing));
  if (lost_) co_return std::unexpected(*lost_);
  if (tail) {
    // Whoever calls from now on may meet another history.
    ++incarnation_;
    watch_.set(*tail);
    log::info("metadata.postgres.connected",
              {{"tail", *tail}, {"connection", incarnation_.load()}});
  }
  std::lock_guard lock(mutex_);
  up_ = tail.has_value();
  down_.reset();
  co_return tail.has_value();
}

std::size_t PostgresLog::Worker::calls_on_empty(PgMissing& missing) const {
  std::lock_guard lock(mutex_);
  const bool begins = !appends_.empty() || std::ranges::any_of(calls_, &Call::begins);
  missing = begins ? PgMissing::kCreate : PgMissing::kLeave;
  return calls_.size() + (appends_.empty() ? 0 : 1);
}

void PostgresLog::Worker::answer_as_empty(std::size_t calls) {
  std::deque<Call> answered;
  {
    std::lock_guard lock(mutex_);
    for (; calls > 0 && !calls_.empty(); --calls) {
      answered.push_back(std::move(calls_.front()));
      calls_.pop_front();
    }
  }
  for (Call& call : answered) call.done.set(PgAnswer());
}

Task<Status> PostgresLog::Worker::be_empty() {
  while (!down_ && !group_.stopping()) {
    PgMissing missing = PgMissing::kLeave;
    // Those that come while it is looked may have seen the first entry already.
    const std::size_t calls = calls_on_empty(missing);
    if (calls == 0) {
      co_await changed_.wait();
      continue;
    }
    WEIR_CO_TRY(const bool begun, co_await begin_session(missing));
    if (begun) break;
    answer_as_empty(calls);
  }
  co_return Status();
}

Task<void> PostgresLog::Worker::run() {
  Backoff backoff(kRetryBase, kRetryCap);
  static log::RateLimit limit(seconds(10));
  while (!group_.stopping()) {
    const Result<bool> has_tables = co_await connect();
    Status connected = has_tables ? Status() : std::unexpected(has_tables.error());
    end_first_attempt(connected);
    if (has_tables == false) connected = co_await be_empty();
    if (connected) {
      backoff.reset();
      pump();
      while (up_ && !group_.stopping()) co_await changed_.wait();
    } else {
      go_down(connected.error());
    }
    connection_->close(stopping());
    connection_.reset();
    if (group_.stopping()) break;
    log::warn(limit, "metadata.postgres.down", {{"error", *down_}});
    co_await group_.sleep(clock_, backoff.next(rng_));
  }
  go_down(stopping());
}

}  // namespace weir::metadata
