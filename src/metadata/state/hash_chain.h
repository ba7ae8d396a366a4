// The hash chain over the bytes of the log: hash(N) covers entries 1 to N, so two brokers with the
// same hash at a position have read the same history. Keeps the latest hashes to check what others
// claim. One thread.
#pragma once
#include "base/bytes.h"
#include "metadata/log/metadata_log.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::metadata {

class HashChain {
 public:
  static constexpr std::size_t kWindow = 65536;

  // The empty history, or the one up to `position` whose hash is known.
  explicit HashChain(Position position = 0, std::uint64_t hash = 0);

  [[nodiscard]] Position position() const { return position_; }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  // The hash after an entry that follows a history with hash `before`.
  [[nodiscard]] static std::uint64_t extend(std::uint64_t before, Bytes entry);
  void add(Bytes entry);
  // The hash at an earlier position; nothing when it is ahead or no longer kept.
  [[nodiscard]] std::optional<std::uint64_t> at(Position position) const;

 private:
  Position position_;
  std::uint64_t hash_;
  std::vector<std::uint64_t> window_;  // the latest; a ring once it is full
  std::size_t last_ = 0;               // where in it hash_ is
};

}  // namespace weir::metadata
