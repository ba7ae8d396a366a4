#include "base/rendezvous.h"

namespace weir {
namespace {

// The finalizer of SplitMix64: every bit of the input moves every bit of the result.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

std::uint64_t score(std::uint64_t key, std::int32_t node) {
  return mix(key ^ mix(static_cast<std::uint32_t>(node)));
}

// 5/4 of an even share of `count` parts, rounded up.
std::size_t room_for(std::size_t count, std::size_t nodes) {
  return (5 * count + 4 * nodes - 1) / (4 * nodes);
}

}  // namespace

std::uint64_t rendezvous_key(std::string_view name) {
  std::uint64_t key = mix(name.size());
  for (char c : name) key = mix(key ^ static_cast<std::uint8_t>(c));
  return key;
}

std::uint64_t rendezvous_key(const Uuid& id) { return mix(mix(id.high) ^ id.low); }

std::optional<std::int32_t> rendezvous_owner(std::uint64_t key,
                                             std::span<const std::int32_t> nodes) {
  std::optional<std::int32_t> best;
  std::uint64_t best_score = 0;
  for (std::int32_t node : nodes) {
    std::uint64_t own = score(key, node);
    if (best && own <= best_score) continue;
    best = node;
    best_score = own;
  }
  return best;
}

std::vector<std::int32_t> rendezvous_spread(std::uint64_t key, std::size_t count,
                                            std::span<const std::int32_t> nodes) {
  std::vector<std::int32_t> owners;
  if (nodes.empty()) return owners;
  owners.reserve(count);
  std::vector<std::size_t> load(nodes.size(), 0);
  for (std::size_t part = 0; part < count; ++part) {
    std::size_t room = room_for(part + 1, nodes.size());
    std::uint64_t part_key = mix(key + part);
    std::optional<std::size_t> best;
    std::uint64_t best_score = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (load[i] >= room) continue;
      std::uint64_t own = score(part_key, nodes[i]);
      if (best && own <= best_score) continue;
      best = i;
      best_score = own;
    }
    // There is always room: together the nodes take more than there is.
    ++load[*best];
    owners.push_back(nodes[*best]);
  }
  return owners;
}

}  // namespace weir
