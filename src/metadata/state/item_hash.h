// The hash of the state: the sum of the hashes of its items, so that it is kept up to date by
// adding what comes and subtracting what goes, and does not depend on any order. Equal on all
// brokers at one position (all are little-endian).
#pragma once
#include "base/byte_writer.h"
#include "base/bytes.h"

#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace weir::metadata {

static_assert(std::endian::native == std::endian::little);

// What an item is; part of its hash. The numbers are part of the snapshot format.
enum class ItemKind : std::uint64_t {
  kPartition = 1,
  kExtent,
  kProducer,
  kTopic,
  kObject,
  kGroup,
  kOffset,
  kBroker,
  kConfig,
  kFeature,
  kCluster,
};

// The hash of one item: what it is, whose it is (a hash of its owner's name) and its content.
[[nodiscard]] std::uint64_t item_hash(ItemKind kind, std::uint64_t owner, Bytes content);

template <typename T>
[[nodiscard]] std::uint64_t item_hash(ItemKind kind, std::uint64_t owner, const T& content)
  requires std::has_unique_object_representations_v<T>
{
  return item_hash(kind, owner, std::as_bytes(std::span(&content, 1)));
}

// An item whose content is written field by field; texts with their lengths.
class ItemWriter {
 public:
  ItemWriter& number(std::int64_t value) {
    out_.i64(value);
    return *this;
  }
  ItemWriter& text(std::string_view value) {
    number(static_cast<std::int64_t>(value.size()));
    out_.text(value);
    return *this;
  }
  [[nodiscard]] std::uint64_t hash(ItemKind kind, std::uint64_t owner = 0) const {
    return item_hash(kind, owner, out_.view());
  }

 private:
  ByteWriter out_;
};

}  // namespace weir::metadata
