#include "sim/sim_log.h"

namespace weir::sim {
namespace {

using metadata::Position;

std::unexpected<Error> down() {
  return fail(ErrorCode::kUnavailable, "the simulated log does not answer");
}
std::unexpected<Error> refused(Rng& rng, const CallFaults& faults) {
  return std::unexpected(
      draw_error(rng, faults, ErrorCode::kUnavailable, "the simulated log does not do it"));
}
std::unexpected<Error> lost(Rng& rng, const CallFaults& faults) {
  return std::unexpected(
      draw_error(rng, faults, ErrorCode::kTimeout, "the simulated log's answer is lost"));
}

// What happens late happens so many times later than a call takes.
constexpr int kLater = 1000;

Task<Result<metadata::Appended>> append_now(Outside outside, Slice entry, Position known) {
  auto appended = co_await outside.log.append(entry, known);
  if (!appended) co_return appended;
  outside.world.note("entry", static_cast<std::uint64_t>(appended->position));
  outside.world.note("entry", entry.bytes());
  co_await outside.witness.entry({appended->position, std::move(entry)});
  co_return appended;
}

Task<void> append_late(Outside outside, Duration delay, Slice entry) {
  const std::uint64_t incarnation = outside.log.incarnation();
  if (!co_await outside.late.sleep(outside.nature.clock(), delay)) co_return;
  if (outside.log.incarnation() != incarnation) co_return;
  outside.world.note("append late");
  static_cast<void>(co_await append_now(outside, std::move(entry), 0));
}

}  // namespace

SimLog::SimLog(Outside outside, Caller caller)
    : outside_(outside), caller_(caller), rng_(outside.world.fork()) {}

template <typename Answer>
Task<Answer> SimLog::perform(const char* name, const CallFaults& faults,
                             std::function<Task<Answer>()> call) {
  // What is on its way to a log that is replaced does not reach the new one.
  const std::uint64_t incarnation = outside_.log.incarnation();
  co_await caller_.clock.sleep(draw_delay(rng_, faults));
  if (is_down()) co_return down();
  if (happens(rng_, faults.refused)) co_return refused(rng_, faults);
  if (outside_.log.incarnation() != incarnation) co_return down();
  Answer answer = co_await call();
  outside_.world.note(name);
  const bool is_lost = happens(rng_, faults.lost);
  co_await caller_.clock.sleep(draw_delay(rng_, faults));
  if (is_down() || is_lost) co_return lost(rng_, faults);
  co_return answer;
}

Task<Result<metadata::Appended>> SimLog::append(Slice entry, Position known) {
  const CallFaults& faults = outside_.weather.faults.append;
  // What is sent into a way that is cut may wait there for its end.
  constexpr double kBuffered = 0.2;
  const bool is_sent = !is_cut_ && outside_.weather.cut(caller_.broker).log;
  const bool is_late =
      is_sent ? happens(rng_, kBuffered) : !is_down() && happens(rng_, faults.late);
  if (is_late || (!is_down() && happens(rng_, faults.repeated))) {
    outside_.late.spawn(outside_.nature.executor(),
                        append_late(outside_, draw_delay(rng_, faults) * kLater, entry));
  }
  if (is_late) {
    co_await caller_.clock.sleep(draw_delay(rng_, faults));
    co_return lost(rng_, faults);
  }
  co_return co_await perform<Result<metadata::Appended>>(
      "append", faults, [this, entry, known] { return append_now(outside_, entry, known); });
}

Task<Result<std::vector<metadata::LogEntry>>> SimLog::read(Position after, ByteCount limit) {
  return perform<Result<std::vector<metadata::LogEntry>>>(
      "read", outside_.weather.faults.read,
      [this, after, limit] { return outside_.log.read(after, limit); });
}

Task<Result<Position>> SimLog::tail() {
  return perform<Result<Position>>("tail", outside_.weather.faults.read,
                                   [this] { return outside_.log.tail(); });
}

Task<void> SimLog::wait_past(Position position, MonoTime deadline) {
  // The shared log has another clock: the wait is cut into pieces of this one's.
  const Duration left = deadline - caller_.clock.now();
  if (left <= Duration::zero()) co_return;
  if (is_down()) {
    co_await caller_.clock.sleep(left);
    co_return;
  }
  co_await outside_.log.wait_past(position, outside_.nature.clock().now() + left);
}

Task<Result<metadata::SnapshotRef>> SimLog::latest_snapshot() {
  return perform<Result<metadata::SnapshotRef>>("latest", outside_.weather.faults.read,
                                                [this] { return outside_.log.latest_snapshot(); });
}

Task<Status> SimLog::record_snapshot(metadata::SnapshotRef ref) {
  auto now = [](Outside outside, metadata::SnapshotRef snapshot) -> Task<Status> {
    Status recorded = co_await outside.log.record_snapshot(snapshot);
    if (recorded) outside.witness.recorded(snapshot);
    co_return recorded;
  };
  return perform<Status>("record", outside_.weather.faults.append,
                         [this, ref, now] { return now(outside_, ref); });
}

Task<Status> SimLog::trim(Position upto) {
  return perform<Status>("trim", outside_.weather.faults.append,
                         [this, upto] { return outside_.log.trim(upto); });
}

Task<Result<Uuid>> SimLog::cluster_id(Uuid proposal) {
  return perform<Result<Uuid>>("cluster id", outside_.weather.faults.append,
                               [this, proposal] { return outside_.log.cluster_id(proposal); });
}

}  // namespace weir::sim
