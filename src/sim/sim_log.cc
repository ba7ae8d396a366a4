#include "sim/sim_log.h"

namespace weir::sim {
namespace {

using metadata::Position;

std::unexpected<Error> down() {
  return fail(ErrorCode::kUnavailable, "the simulated log does not answer");
}
std::unexpected<Error> lost() {
  return fail(ErrorCode::kTimeout, "the simulated log's answer is lost");
}

Task<void> append_late(SharedLog shared, Duration delay, Slice entry) {
  co_await shared.late.sleep(shared.network.clock(), delay);
  static_cast<void>(co_await shared.log.append(std::move(entry), 0));
}

}  // namespace

SimLog::SimLog(SharedLog shared, World& world, Clock& clock, const Weather& weather)
    : shared_(shared), world_(world), clock_(clock), weather_(weather), rng_(world.fork()) {}

template <typename Answer>
Task<Answer> SimLog::perform(const char* name, const CallFaults& faults,
                             std::function<Task<Answer>()> call) {
  co_await clock_.sleep(draw_delay(rng_, faults));
  if (is_down() || happens(rng_, faults.refused)) co_return down();
  Answer answer = co_await call();
  world_.note(name);
  const bool is_lost = happens(rng_, faults.lost);
  co_await clock_.sleep(draw_delay(rng_, faults));
  if (is_down() || is_lost) co_return lost();
  co_return answer;
}

Task<Result<metadata::Appended>> SimLog::append(Slice entry, Position known) {
  if (!is_down() && happens(rng_, weather_.faults.append.late)) {
    world_.note("append late");
    constexpr int kLater = 1000;
    shared_.late.spawn(
        shared_.network.executor(),
        append_late(shared_, draw_delay(rng_, weather_.faults.append) * kLater, std::move(entry)));
    co_await clock_.sleep(draw_delay(rng_, weather_.faults.append));
    co_return lost();
  }
  co_return co_await perform<Result<metadata::Appended>>(
      "append", weather_.faults.append,
      [this, entry, known] { return shared_.log.append(entry, known); });
}

Task<Result<std::vector<metadata::LogEntry>>> SimLog::read(Position after, ByteCount limit) {
  return perform<Result<std::vector<metadata::LogEntry>>>(
      "read", weather_.faults.read,
      [this, after, limit] { return shared_.log.read(after, limit); });
}

Task<Result<Position>> SimLog::tail() {
  return perform<Result<Position>>("tail", weather_.faults.read,
                                   [this] { return shared_.log.tail(); });
}

Task<void> SimLog::wait_past(Position position, MonoTime deadline) {
  // The shared log has another clock: the wait is cut into pieces of this one's.
  const Duration left = deadline - clock_.now();
  if (left <= Duration::zero()) co_return;
  if (is_down()) {
    co_await clock_.sleep(left);
    co_return;
  }
  co_await shared_.log.wait_past(position, shared_.network.clock().now() + left);
}

Task<Result<metadata::SnapshotRef>> SimLog::latest_snapshot() {
  return perform<Result<metadata::SnapshotRef>>("latest", weather_.faults.read,
                                                [this] { return shared_.log.latest_snapshot(); });
}

Task<Status> SimLog::record_snapshot(metadata::SnapshotRef ref) {
  return perform<Status>("record", weather_.faults.append,
                         [this, ref] { return shared_.log.record_snapshot(ref); });
}

Task<Status> SimLog::trim(Position upto) {
  return perform<Status>("trim", weather_.faults.append,
                         [this, upto] { return shared_.log.trim(upto); });
}

Task<Result<Uuid>> SimLog::cluster_id(Uuid proposal) {
  return perform<Result<Uuid>>("cluster id", weather_.faults.append,
                               [this, proposal] { return shared_.log.cluster_id(proposal); });
}

}  // namespace weir::sim
