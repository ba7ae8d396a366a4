#include "sim/clients.h"

#include <fmt/format.h>

namespace weir::sim {
namespace {

using std::chrono::milliseconds;

}  // namespace

Consumer::Consumer(ClientParts parts, int number)
    : parts_(std::move(parts)),
      group_id_(fmt::format("group-{}", number)),
      machine_(parts_.world.add_machine()),
      rng_(parts_.world.fork()),
      reader_(parts_, number % 2 == 0) {}

void Consumer::start() { group_.spawn(machine_.executor(), run()); }

void Consumer::start_last_reading(std::vector<std::string> groups) {
  group_.spawn(machine_.executor(), read_all(std::move(groups)));
}

Task<void> Consumer::run() {
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  Link coordinator(parts_.world, machine_, parts_.weather, parts_.nodes);
  Link any(parts_.world, machine_, parts_.weather, parts_.nodes);
  std::int32_t bytes = 4096;
  while (!group_.stopping()) {
    // Not always another: in a session, what stays the same is not said again.
    if (rng_.below(4) == 0) bytes = static_cast<std::int32_t>(1 + rng_.below(4096));
    if (!co_await reader_.fetch(link, parts_.partitions, bytes)) {
      link.choose();
      co_await group_.sleep(machine_.clock(), milliseconds(100));
    }
    if (rng_.below(10) == 0) link.choose();
    if (rng_.below(4) == 0) coordinator.choose();
    if (rng_.below(4) == 0) co_await commit(coordinator);
    if (rng_.below(3) == 0) {
      // Whoever takes itself for the coordinator must know what is committed.
      any.choose();
      std::ignore = co_await read_committed(parts_, any, group_id_, parts_.partitions);
    }
    co_await group_.sleep(machine_.clock(), milliseconds(rng_.below(200)));
  }
}

Task<void> Consumer::read_all(std::vector<std::string> groups) {
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  Reader reader(parts_);
  while (!group_.stopping() && !reader.at_end(parts_.partitions)) {
    if (co_await reader.fetch(link, parts_.partitions, 1 << 16)) continue;
    link.choose();
    co_await group_.sleep(machine_.clock(), milliseconds(50));
  }
  for (const std::string& group : groups) {
    while (!group_.stopping()) {
      const bool is_found = co_await find_coordinator(link, group);
      if (is_found && co_await read_committed(parts_, link, group, parts_.partitions)) break;
      link.choose();
      co_await group_.sleep(machine_.clock(), milliseconds(50));
    }
  }
}

Task<void> Consumer::commit(Link& link) {
  if (!co_await find_coordinator(link, group_id_)) co_return;
  std::vector<Offset> offsets;
  for (const Where& where : parts_.partitions) offsets.push_back(reader_.position(where));
  std::ignore =
      co_await commit_offsets(parts_, link, group_id_, parts_.partitions, std::move(offsets));
}

}  // namespace weir::sim
