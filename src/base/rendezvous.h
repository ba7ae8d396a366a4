// Rendezvous hashing: every broker finds the same owner of a thing from the list of brokers alone,
// and when a broker comes or goes only what it owned changes hands. Pure functions; the hashes are
// the same in every version and on every machine.
#pragma once
#include "base/uuid.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace weir {

[[nodiscard]] std::uint64_t rendezvous_key(std::string_view name);
[[nodiscard]] std::uint64_t rendezvous_key(const Uuid& id);

// The node with the highest score for the key. Nothing: there are no nodes.
[[nodiscard]] std::optional<std::int32_t> rendezvous_owner(std::uint64_t key,
                                                           std::span<const std::int32_t> nodes);

// The owners of parts 0 to count - 1 of one thing, none with more than about 5/4 of its share: a
// part goes to the node with the highest score that has room. More parts do not change the owners
// of those before. Empty when there are no nodes.
[[nodiscard]] std::vector<std::int32_t> rendezvous_spread(std::uint64_t key, std::size_t count,
                                                          std::span<const std::int32_t> nodes);

}  // namespace weir
