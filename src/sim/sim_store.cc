#include "sim/sim_store.h"

#include "metadata/log/object_log_format.h"

#include <xxhash.h>

namespace weir::sim {
namespace {

// What happens late happens so many times later than a call takes.
constexpr int kLater = 500;

std::unexpected<Error> down() {
  return fail(ErrorCode::kUnavailable, "the simulated store does not answer");
}
std::unexpected<Error> refused(Rng& rng, const CallFaults& faults) {
  return std::unexpected(
      draw_error(rng, faults, ErrorCode::kUnavailable, "the simulated store does not do it"));
}
std::unexpected<Error> lost(Rng& rng, const CallFaults& faults) {
  return std::unexpected(
      draw_error(rng, faults, ErrorCode::kTimeout, "the simulated store's answer is lost"));
}

// Of a log in the store. What a broker that slept writes where entries were deleted is none.
Task<void> tell_entries(Witness& witness, const storage::ObjectKey& key, const Chain& body) {
  namespace object_log = metadata::object_log;
  const auto first = object_log::number_of(object_log::kEntries, key);
  if (!first) co_return;
  auto group = object_log::decode_group(body.flatten(), *first);
  if (!group || group->first() <= witness.position()) co_return;
  for (metadata::LogEntry& entry : group->entries) co_await witness.entry(std::move(entry));
}

Task<Status> put_now(Outside outside, Caller caller, storage::ObjectKey key, Chain body,
                     storage::PutOptions options) {
  Status put = co_await outside.store.put(key, body, options);
  if (put) {
    outside.world.note("put", body);
    outside.witness.stored(key, caller.process);
    co_await tell_entries(outside.witness, key, body);
  }
  co_return put;
}

Task<void> put_late(Outside outside, Caller caller, Duration delay, storage::ObjectKey key,
                    Chain body, storage::PutOptions options) {
  if (!co_await outside.late.sleep(outside.nature.clock(), delay)) co_return;
  outside.world.note("put late");
  static_cast<void>(co_await put_now(outside, caller, std::move(key), std::move(body), options));
}

}  // namespace

SimStore::SimStore(Outside outside, Caller caller)
    : outside_(outside), caller_(caller), rng_(outside.world.fork()) {}

template <typename Answer>
Task<Answer> SimStore::perform(const char* name, std::string key, const CallFaults& faults,
                               std::function<Task<Answer>()> call) {
  co_await caller_.clock.sleep(draw_delay(rng_, faults));
  if (is_down()) co_return down();
  if (happens(rng_, faults.refused)) co_return refused(rng_, faults);
  Answer answer = co_await call();
  outside_.world.note(name, XXH3_64bits(key.data(), key.size()));
  const bool is_lost = happens(rng_, faults.lost);
  co_await caller_.clock.sleep(draw_delay(rng_, faults) / 4);
  if (is_down() || is_lost) co_return lost(rng_, faults);
  co_return answer;
}

Task<Status> SimStore::put(storage::ObjectKey key, Chain body, storage::PutOptions options) {
  const CallFaults& faults = outside_.weather.faults.put;
  const bool is_late = !is_down() && happens(rng_, faults.late);
  if (is_late || (!is_down() && happens(rng_, faults.repeated))) {
    outside_.late.spawn(
        outside_.nature.executor(),
        put_late(outside_, caller_, draw_delay(rng_, faults) * kLater, key, body, options));
  }
  if (is_late) {
    co_await caller_.clock.sleep(draw_delay(rng_, faults));
    co_return lost(rng_, faults);
  }
  co_return co_await perform<Status>("put", key, faults, [this, key, body, options] {
    return put_now(outside_, caller_, key, body, options);
  });
}

// The bytes as they come through a bad line. The length of a range is what was asked for: those
// who read ranges over HTTP check that before.
Slice SimStore::damage(Slice bytes, bool may_cut) {
  const CallFaults& faults = outside_.weather.faults.get;
  if (bytes.empty()) return bytes;
  if (may_cut && happens(rng_, faults.cut_short)) return bytes.sub(0, rng_.below(bytes.size()));
  if (!happens(rng_, faults.damaged)) return bytes;
  std::vector<std::byte> copy(bytes.bytes().begin(), bytes.bytes().end());
  copy[rng_.below(copy.size())] ^= std::byte{1};
  return Slice::of(std::move(copy));
}

Task<Result<Slice>> SimStore::get(storage::ObjectKey key) {
  auto bytes = co_await perform<Result<Slice>>("get", key, outside_.weather.faults.get,
                                               [this, key] { return outside_.store.get(key); });
  if (bytes) bytes = damage(*std::move(bytes), true);
  if (bytes) outside_.world.note("got", bytes->bytes());
  co_return bytes;
}

Task<Result<Slice>> SimStore::get_range(storage::ObjectKey key, storage::ByteRange range) {
  auto bytes = co_await perform<Result<Slice>>(
      "get", key, outside_.weather.faults.get,
      [this, key, range] { return outside_.store.get_range(key, range); });
  if (bytes) bytes = damage(*std::move(bytes), false);
  if (bytes) outside_.world.note("got", bytes->bytes());
  co_return bytes;
}

Task<Result<storage::ObjectInfo>> SimStore::head(storage::ObjectKey key) {
  return perform<Result<storage::ObjectInfo>>("head", key, outside_.weather.faults.get,
                                              [this, key] { return outside_.store.head(key); });
}

Task<Status> SimStore::remove(std::vector<storage::ObjectKey> keys) {
  const std::string first = keys.empty() ? "" : keys.front();
  auto now = [](Outside outside, Caller caller,
                std::vector<storage::ObjectKey> gone) -> Task<Status> {
    co_await outside.witness.removing(gone, caller.process);
    co_return co_await outside.store.remove(std::move(gone));
  };
  return perform<Status>("remove", first, outside_.weather.faults.put,
                         [this, keys, now] { return now(outside_, caller_, keys); });
}

Task<Result<storage::ListPage>> SimStore::list(std::string prefix, std::string after,
                                               std::size_t limit) {
  return perform<Result<storage::ListPage>>(
      "list", prefix, outside_.weather.faults.get,
      [this, prefix, after, limit] { return outside_.store.list(prefix, after, limit); });
}

}  // namespace weir::sim
