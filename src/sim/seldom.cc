#include "sim/seldom.h"

#include <fmt/format.h>

namespace weir::sim {
namespace {

using std::chrono::milliseconds;

constexpr int kGroups = 6;

Duration any_part(Rng& rng, Duration most) {
  return Duration(static_cast<Duration::rep>(rng.unit() * static_cast<double>(most.count())));
}

}  // namespace

SeldomClient::SeldomClient(ClientParts parts, int number, Duration retention,
                           Duration check_interval)
    : parts_(std::move(parts)),
      retention_(retention),
      check_interval_(check_interval),
      machine_(parts_.world.add_machine()),
      rng_(parts_.world.fork()) {
  for (int i = 0; i < kGroups; ++i) groups_.push_back(fmt::format("seldom-{}-{}", number, i));
}

void SeldomClient::start() {
  for (const std::string& group : groups_) tasks_.spawn(machine_.executor(), run(group));
}

Task<void> SeldomClient::run(std::string group) {
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  const Where where{kOrders, 0};
  std::uint64_t next = 1;
  bool is_found = false;
  while (!tasks_.stopping()) {
    if (!is_found) is_found = co_await find_coordinator(link, group);
    if (is_found) {
      is_found = co_await commit_offsets(parts_, link, group, {where}, {static_cast<Offset>(next)});
      ++next;
    }
    if (!is_found) {
      co_await tasks_.sleep(machine_.clock(), milliseconds(100));
      continue;
    }
    if (!co_await tasks_.sleep(machine_.clock(), any_part(rng_, retention_ / 2))) co_return;
    std::ignore = co_await read_committed(parts_, link, group, {where});
    // From shortly before it may expire until the next look at it is over.
    const Duration rest = retention_ / 2 + any_part(rng_, retention_ / 2 + 2 * check_interval_);
    if (!co_await tasks_.sleep(machine_.clock(), rest)) co_return;
  }
}

}  // namespace weir::sim
