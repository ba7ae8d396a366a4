#include "metadata/appender.h"

#include "base/planted.h"
#include "runtime/log.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

namespace weir::metadata {
namespace {

// The epoch that a command's effect depends on, beyond that of its record.
std::optional<BrokerEpoch> bound_epoch(const Command& command) {
  const auto* commit = std::get_if<CommitObject>(&command);
  return commit == nullptr ? std::nullopt : std::optional(commit->object.epoch);
}

Error overtaking() {
  return {ErrorCode::kUnavailable, "a commit that was submitted before was refused"};
}

// Nothing was appended and nothing will be.
bool is_refusal(const Error& error) {
  if (planted(Bug::kFinalErrorTakenAsRefusal) && !is_retriable(error.code)) return true;
  return error.code == ErrorCode::kRefused;
}

Error fenced(BrokerEpoch epoch) {
  return {ErrorCode::kFenced, fmt::format("broker epoch {} has ended", epoch)};
}

}  // namespace

Appender::Appender(MetadataLog& log, Replayer& replayer, Clock& clock, Rng rng,
                   AppenderOptions options)
    : log_(log),
      replayer_(replayer),
      clock_(clock),
      rng_(rng),
      options_(options),
      backoff_(options.retry_base, options.retry_cap),
      closed_(Error{ErrorCode::kUnavailable, "the metadata is being loaded"}) {}

std::optional<Error> Appender::refusal_locked() const {
  if (closed_) return closed_;
  if (outage_ && clock_.now() - outage_since_ >= options_.patience) {
    return Error{ErrorCode::kUnavailable, outage_->message}.in("the metadata log is down");
  }
  return std::nullopt;
}

std::optional<Error> Appender::refusal() const {
  std::lock_guard lock(mutex_);
  return refusal_locked();
}

std::optional<Error> Appender::admit(std::size_t bytes, bool is_commit) const {
  if (auto refused = refusal_locked()) return refused;
  if (commits_refused_ && is_commit) return overtaking();
  if (queue_.size() >= options_.queue_commands || queued_bytes_ + bytes > options_.queue_bytes) {
    return Error{ErrorCode::kExhausted,
                 fmt::format("{} commands with {} bytes wait for the metadata log", queue_.size(),
                             queued_bytes_)};
  }
  return std::nullopt;
}

Task<Result<CommandResult>> Appender::submit(Command command) {
  WEIR_CO_TRY(std::vector<std::byte> bytes, encode_command(command, metadata_level_));
  if (bytes.size() > kMaxEntryBytes - kMaxRecordHeader) {
    co_return fail(ErrorCode::kInvalid,
                   fmt::format("a {} of {} bytes is too large for the metadata log",
                               command_name(command), bytes.size()));
  }
  OneShot<Result<CommandResult>> done;
  const auto only_epoch = bound_epoch(command);
  {
    std::lock_guard lock(mutex_);
    if (auto refused = admit(bytes.size(), only_epoch.has_value()))
      co_return std::unexpected(*refused);
    queued_bytes_ += bytes.size();
    queue_.push_back({std::move(bytes), only_epoch, done});
  }
  work_.notify();
  co_return co_await done.wait();
}

void Appender::open(BrokerId broker, BrokerEpoch epoch) {
  std::lock_guard lock(mutex_);
  broker_ = broker;
  epoch_ = epoch;
  next_sequence_ = 0;
  closed_.reset();
}

void Appender::close(Error reason) {
  // Applied already, and not settled: in a part of the log that a snapshot took the place of.
  const auto& brokers = replayer_.state().tables().brokers;
  const auto own = brokers.find(broker_);
  const bool may_stand =
      record_ && own != brokers.end() &&
      (own->second.image.epoch != epoch_ || own->second.last_sequence >= record_->sequence);
  {
    std::lock_guard lock(mutex_);
    epoch_ = -1;
    closed_ = reason;
  }
  give_up_queue(reason);
  // What was sent to the log may stand there, for others to apply, unless the epoch ended before.
  bool is_unknown =
      record_ && record_->attempts > 0 && (reason.code != ErrorCode::kFenced || may_stand);
  if (is_unknown) reason = Error{ErrorCode::kCancelled, "outcome unknown: " + reason.to_string()};
  settle_record(std::unexpected(reason));
}

void Appender::give_up_queue(const Error& reason) {
  std::deque<Waiter> queue;
  {
    std::lock_guard lock(mutex_);
    queue.swap(queue_);
    queued_bytes_ = 0;
  }
  for (Waiter& waiter : queue) waiter.done.set(std::unexpected(reason));
}

void Appender::refuse_commits() {
  std::deque<Waiter> refused;
  {
    std::lock_guard lock(mutex_);
    commits_refused_ = true;
    std::erase_if(queue_, [&](Waiter& waiter) {
      if (!waiter.only_epoch) return false;
      queued_bytes_ -= waiter.bytes.size();
      refused.push_back(std::move(waiter));
      return true;
    });
  }
  for (Waiter& waiter : refused) waiter.done.set(std::unexpected(overtaking()));
}

// What was set is on its way to the submitters, who run on this executor; this comes after it.
Task<void> Appender::let_submitters_know() {
  co_await boost::asio::post(boost::asio::use_awaitable);
  std::lock_guard lock(mutex_);
  commits_refused_ = false;
}

void Appender::settle_record(const Result<CommandResult>& result) {
  if (!record_) return;
  for (auto& waiter : record_->waiters) waiter.set(result);
  record_.reset();
  settled_.notify();
}

void Appender::on_record(Applied applied) {
  if (!record_ || applied.header.sequence != record_->sequence) return;
  if (applied.outcome == Applied::Outcome::kFenced) {
    settle_record(std::unexpected(fenced(applied.header.epoch)));
    return;
  }
  // kRepeated: an older occurrence was applied, and settled the record then.
  if (applied.outcome != Applied::Outcome::kApplied) return;
  for (std::size_t i = 0; i < record_->waiters.size(); ++i) {
    record_->waiters[i].set(std::move(applied.results[i]));
  }
  record_.reset();
  settled_.notify();
}

bool Appender::idle() const {
  std::lock_guard lock(mutex_);
  return queue_.empty() && !record_;
}

Task<void> Appender::drain(Error reason) {
  {
    std::lock_guard lock(mutex_);
    closed_ = reason;
  }
  while (!idle() && !outage() && !replayer_.failure()) {
    co_await settled_.wait_until(clock_, clock_.now() + options_.retry_cap);
  }
}

void Appender::after_reload() {
  const auto& brokers = replayer_.state().tables().brokers;
  auto own = brokers.find(broker_);
  if (!record_ || own == brokers.end() || own->second.last_sequence < record_->sequence) return;
  settle_record(fail(
      ErrorCode::kCancelled,
      "the command was applied or refused, but the log was trimmed before its result was seen"));
}

std::optional<Appender::Record> Appender::next_record() {
  std::vector<Waiter> taken;
  std::vector<Waiter> stale;
  RecordHeader header;
  {
    std::lock_guard lock(mutex_);
    if (epoch_ < 0) return std::nullopt;
    ByteCount bytes = 0;
    while (!queue_.empty() && taken.size() < options_.record_commands) {
      Waiter& next = queue_.front();
      if (!taken.empty() && bytes + next.bytes.size() > options_.record_bytes) break;
      bool is_stale = next.only_epoch && (!stale.empty() || *next.only_epoch != epoch_);
      queued_bytes_ -= next.bytes.size();
      if (!is_stale) bytes += next.bytes.size();
      (is_stale ? stale : taken).push_back(std::move(next));
      queue_.pop_front();
    }
    header = {.broker = broker_, .epoch = epoch_};
  }
  for (Waiter& waiter : stale) {
    const bool is_old = *waiter.only_epoch != header.epoch;
    waiter.done.set(std::unexpected(is_old ? fenced(*waiter.only_epoch) : overtaking()));
  }
  if (!stale.empty()) refuse_commits();
  if (taken.empty()) return std::nullopt;
  header.sequence = next_sequence_++;
  header.time = clock_.wall_ms();
  header.known = replayer_.state().position();
  header.known_hash = replayer_.state().chain().hash();
  Record record{.sequence = header.sequence};
  std::vector<std::byte> commands;
  for (Waiter& waiter : taken) {
    commands.insert(commands.end(), waiter.bytes.begin(), waiter.bytes.end());
    record.waiters.push_back(waiter.done);
    record.has_commit |= waiter.only_epoch.has_value();
  }
  record.bytes = encode_record(header, taken.size(), commands);
  return record;
}

// An error may come after the append: the outcome is unknown but for kRefused.
Task<Result<Appended>> Appender::append_once(Slice bytes) {
  // The call begins before the look at the log: should that be another one from here on, nothing is
  // appended to it.
  Position known = replayer_.position();
  auto call = log_.append(std::move(bytes), known);
  WEIR_CO_CHECK(co_await replayer_.resolve_doubt());
  appending_ = true;
  auto appended = co_await std::move(call);
  appending_ = false;
  appended_.notify();
  if (appended && appended->position <= known && !planted(Bug::kRestoredLogUnnoticed)) {
    Error error{ErrorCode::kCorrupt,
                fmt::format("metadata log diverged: an entry was appended at position {} after {}",
                            appended->position, known)};
    replayer_.fail(error);
    co_return std::unexpected(error);
  }
  co_return appended;
}

Task<Status> Appender::take_in(const Appended& appended) {
  WEIR_CO_CHECK(co_await replayer_.resolve_doubt());
  WEIR_CO_CHECK(replayer_.apply(appended.entries));
  co_return co_await replayer_.read_until(appended.position);
}

Task<Status> Appender::append_now(const RecordHeader& header,
                                  const std::vector<Command>& commands) {
  std::vector<std::byte> encoded;
  for (const Command& command : commands) {
    WEIR_CO_TRY(std::vector<std::byte> bytes, encode_command(command, metadata_level_));
    encoded.insert(encoded.end(), bytes.begin(), bytes.end());
  }
  auto appended = co_await append_once(encode_record(header, commands.size(), encoded));
  Status status = appended ? co_await take_in(*appended) : std::unexpected(appended.error());
  note(status);
  co_return status;
}

void Appender::note(const Status& status) {
  bool give_up = false;
  {
    std::lock_guard lock(mutex_);
    if (status) {
      if (outage_) {
        log::info("metadata.log.up", {{"position", replayer_.position()}});
        if (clock_.now() - outage_since_ >= options_.long_outage) last_outage_end_ = clock_.now();
      }
      outage_.reset();
      backoff_.reset();
      return;
    }
    if (!outage_) {
      log::warn("metadata.log.down",
                {{"position", replayer_.position()}, {"error", status.error()}});
      outage_since_ = clock_.now();
    }
    outage_ = status.error();
    give_up = clock_.now() - outage_since_ >= options_.patience;
  }
  replayer_.doubt();
  work_.notify();
  if (!give_up) return;
  give_up_queue(
      Error{ErrorCode::kUnavailable, status.error().message}.in("the metadata log is down"));
  if (hurried_) {
    settle_record(fail(ErrorCode::kCancelled,
                       "the broker stops while the metadata log is down: the outcome is unknown"));
  }
}

void Appender::note_read(const Status& status) {
  // A log that can be read may still take no appends: the next attempt with the record tells.
  if (status && record_ && record_->attempts > 0) return;
  note(status);
}

std::optional<Error> Appender::outage() const {
  std::lock_guard lock(mutex_);
  return outage_;
}

std::optional<MonoTime> Appender::last_outage_end() const {
  std::lock_guard lock(mutex_);
  return last_outage_end_;
}

Task<void> Appender::attempt(TaskGroup& group) {
  Status status = co_await replayer_.resolve_doubt();
  if (status && record_) {
    ++record_->attempts;
    auto appended = co_await append_once(record_->bytes);
    // Not after an attempt whose outcome is unknown. No outage: the next record may do.
    if (!appended && record_ && record_->attempts == 1 && is_refusal(appended.error())) {
      if (record_->has_commit) refuse_commits();
      settle_record(fail(ErrorCode::kExhausted, appended.error().message));
      co_return;
    }
    status = appended ? co_await take_in(*appended) : std::unexpected(appended.error());
  }
  if (status || !record_) {
    if (status) note(status);
    co_return;
  }
  note(status);
  if (planted(Bug::kUnknownAppendTakenAsFailed)) settle_record(std::unexpected(status.error()));
  co_await group.sleep(clock_, backoff_.next(rng_));
}

// Nothing waits for the log, and what comes may be refused without a try.
Task<void> Appender::look_for_end_of_outage(TaskGroup& group) {
  if (!co_await group.sleep(clock_, backoff_.next(rng_))) co_return;
  auto tail = co_await log_.tail();
  if (!replayer_.failure()) note(tail ? Status() : std::unexpected(tail.error()));
}

Task<void> Appender::run(TaskGroup& group) {
  while (!group.stopping()) {
    if (commits_refused_) {
      co_await let_submitters_know();
      continue;
    }
    if (replayer_.failure()) {
      close(*replayer_.failure());
    } else if (record_) {
      co_await attempt(group);
      continue;
    } else {
      record_ = next_record();
      if (record_ || commits_refused_) continue;
      if (outage()) {
        co_await look_for_end_of_outage(group);
        continue;
      }
    }
    co_await work_.wait();
  }
}

}  // namespace weir::metadata
