#include "metadata/log/memory_log.h"

#include "metadata/log/log_rules.h"

#include <fmt/format.h>

namespace weir::metadata {

template <typename T, typename F>
Task<Result<T>> MemoryLog::perform(F call) {
  Delays delays;
  std::uint64_t restores = 0;
  {
    std::lock_guard lock(mutex_);
    delays = delays_;
    restores = restores_;
  }
  if (delays.before > Duration::zero()) co_await clock_.sleep(delays.before);
  Result<T> result = [&]() -> Result<T> {
    std::lock_guard lock(mutex_);
    if (outage_) return std::unexpected(*outage_);
    if (restores != restores_) return weir::fail(ErrorCode::kUnavailable, "the log was restored");
    return call();
  }();
  if (delays.after > Duration::zero()) co_await clock_.sleep(delays.after);
  co_return result;
}

Task<Result<Appended>> MemoryLog::append(Slice entry, Position known) {
  WEIR_CO_CHECK(check_append(entry, known));
  co_return co_await perform<Appended>([&] { return append_locked(std::move(entry), known); });
}

Result<Appended> MemoryLog::append_locked(Slice entry, Position known) {
  std::optional<Fault> fault;
  if (auto planned = faults_.extract(++appends_)) fault = planned.mapped();
  auto failure = [&] {
    return fail(fault->code, fmt::format("append {}: planned fault", appends_));
  };
  if (fault && fault->effect == Effect::kNone) return failure();
  image_.entries.push_back(std::move(entry));
  watch_.set(tail_locked());
  if (fault) return failure();
  return Appended{tail_locked(), entries_after(known, kAppendAnswerBytes)};
}

std::vector<LogEntry> MemoryLog::entries_after(Position after, ByteCount limit) const {
  AnswerEntries answer(limit);
  if (after < image_.trimmed) return answer.release();
  for (Position at = after + 1; at <= tail_locked(); ++at) {
    const Slice& entry = image_.entries[static_cast<std::size_t>(at - image_.trimmed - 1)];
    if (!answer.takes(entry.size())) break;
    answer.add({at, entry});
  }
  return answer.release();
}

Task<Result<std::vector<LogEntry>>> MemoryLog::read(Position after, ByteCount limit) {
  WEIR_CO_CHECK(check_position(after));
  using Entries = std::vector<LogEntry>;
  co_return co_await perform<Entries>([&]() -> Result<Entries> {
    if (after < image_.trimmed) return trimmed_away(after, image_.trimmed);
    return entries_after(after, limit);
  });
}

Task<Result<Position>> MemoryLog::tail() {
  co_return co_await perform<Position>([&]() -> Result<Position> { return tail_locked(); });
}

Task<void> MemoryLog::wait_past(Position position, MonoTime deadline) {
  return watch_.wait_past(position, clock_, deadline);
}

Task<Result<SnapshotRef>> MemoryLog::latest_snapshot() {
  co_return co_await perform<SnapshotRef>([&]() -> Result<SnapshotRef> { return image_.snapshot; });
}

Task<Status> MemoryLog::record_snapshot(SnapshotRef ref) {
  co_return co_await perform<void>([&]() -> Status {
    WEIR_CHECK(check_snapshot(ref, tail_locked()));
    if (ref.position > image_.snapshot.position) image_.snapshot = std::move(ref);
    return {};
  });
}

Task<Status> MemoryLog::trim(Position upto) {
  co_return co_await perform<void>([&]() -> Status {
    WEIR_CHECK(check_trim(upto, image_.snapshot));
    while (image_.trimmed < upto) {
      image_.entries.pop_front();
      ++image_.trimmed;
    }
    return {};
  });
}

Task<Result<Uuid>> MemoryLog::cluster_id(Uuid proposal) {
  co_return co_await perform<Uuid>([&]() -> Result<Uuid> {
    if (!image_.cluster_id && !proposal.is_zero()) image_.cluster_id = proposal;
    return image_.cluster_id.value_or(Uuid());
  });
}

void MemoryLog::fail_append(std::size_t nth, Effect effect, ErrorCode code) {
  std::lock_guard lock(mutex_);
  faults_[appends_ + nth] = {effect, code};
}

void MemoryLog::set_outage(std::optional<Error> error) {
  std::lock_guard lock(mutex_);
  outage_ = std::move(error);
}

void MemoryLog::set_delays(Delays delays) {
  std::lock_guard lock(mutex_);
  delays_ = delays;
}

MemoryLog::Image MemoryLog::image() const {
  std::lock_guard lock(mutex_);
  return image_;
}

std::uint64_t MemoryLog::incarnation() const {
  std::lock_guard lock(mutex_);
  return restores_;
}

void MemoryLog::restore(Image image) {
  std::lock_guard lock(mutex_);
  image_ = std::move(image);
  ++restores_;
  watch_.set(tail_locked());
}

std::size_t MemoryLog::appends() const {
  std::lock_guard lock(mutex_);
  return appends_;
}

}  // namespace weir::metadata
