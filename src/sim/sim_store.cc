#include "sim/sim_store.h"

#include <xxhash.h>

namespace weir::sim {
namespace {

std::unexpected<Error> down() {
  return fail(ErrorCode::kUnavailable, "the simulated store does not answer");
}
std::unexpected<Error> lost() {
  return fail(ErrorCode::kTimeout, "the simulated store's answer is lost");
}

}  // namespace

SimStore::SimStore(storage::ObjectStore& shared, World& world, Clock& clock, const Weather& weather)
    : shared_(shared), world_(world), clock_(clock), weather_(weather), rng_(world.fork()) {}

template <typename Answer>
Task<Answer> SimStore::perform(const char* name, std::string key, const CallFaults& faults,
                               std::function<Task<Answer>()> call) {
  co_await clock_.sleep(draw_delay(rng_, faults));
  if (is_down() || happens(rng_, faults.refused)) co_return down();
  Answer answer = co_await call();
  world_.note(name, XXH3_64bits(key.data(), key.size()));
  const bool is_lost = happens(rng_, faults.lost);
  co_await clock_.sleep(draw_delay(rng_, faults) / 4);
  if (is_down() || is_lost) co_return lost();
  co_return answer;
}

Task<Status> SimStore::put(storage::ObjectKey key, Chain body, storage::PutOptions options) {
  return perform<Status>("put", key, weather_.faults.put,
                         [this, key, body, options] { return shared_.put(key, body, options); });
}

Task<Result<Slice>> SimStore::get(storage::ObjectKey key) {
  return perform<Result<Slice>>("get", key, weather_.faults.get,
                                [this, key] { return shared_.get(key); });
}

Task<Result<Slice>> SimStore::get_range(storage::ObjectKey key, storage::ByteRange range) {
  return perform<Result<Slice>>("get", key, weather_.faults.get,
                                [this, key, range] { return shared_.get_range(key, range); });
}

Task<Result<storage::ObjectInfo>> SimStore::head(storage::ObjectKey key) {
  return perform<Result<storage::ObjectInfo>>("head", key, weather_.faults.get,
                                              [this, key] { return shared_.head(key); });
}

Task<Status> SimStore::remove(std::vector<storage::ObjectKey> keys) {
  const std::string first = keys.empty() ? "" : keys.front();
  return perform<Status>("remove", first, weather_.faults.put,
                         [this, keys] { return shared_.remove(keys); });
}

Task<Result<storage::ListPage>> SimStore::list(std::string prefix, std::string after,
                                               std::size_t limit) {
  return perform<Result<storage::ListPage>>(
      "list", prefix, weather_.faults.get,
      [this, prefix, after, limit] { return shared_.list(prefix, after, limit); });
}

}  // namespace weir::sim
