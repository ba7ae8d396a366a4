// The objects of the bucket log: keys, and the encoding of a group of entries.
// docs/formats/metadata-object.md describes them. Internal to the object backend. Pure.
#pragma once
#include "base/uuid.h"
#include "metadata/log/metadata_log.h"
#include "storage/object_store.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::metadata::object_log {

constexpr std::string_view kLog = "log/";                  // all of them
constexpr std::string_view kEntries = "log/entries/";      // by the position of the first entry
constexpr std::string_view kSnapshots = "log/snapshots/";  // by position; the manifest's key
constexpr std::string_view kTrims = "log/trims/";          // by the last position that is gone
constexpr std::string_view kClosed = "log/closed/";  // by block: its entries are being deleted
constexpr std::string_view kClusterId = "log/cluster-id";

// Entries are deleted by whole blocks; a group lies in one.
constexpr Position kBlock = 1024;
// A group has at most so many entries.
constexpr std::size_t kGroupEntries = 256;

[[nodiscard]] storage::ObjectKey key(std::string_view prefix, Position number);
[[nodiscard]] std::optional<Position> number_of(std::string_view prefix, std::string_view key);
[[nodiscard]] constexpr Position block_of(Position position) { return (position - 1) / kBlock; }

// Entries that were written together.
struct Group {
  Uuid writer;  // drawn for each group: tells the own one from another's
  std::vector<LogEntry> entries;
  [[nodiscard]] Position first() const { return entries.front().position; }
  [[nodiscard]] Position last() const { return entries.back().position; }
};

[[nodiscard]] Chain encode_group(const Uuid& writer, Position first,
                                 std::span<const Slice> entries);
// Whether it begins like one.
[[nodiscard]] bool is_group(Bytes object);
// The same of whatever position.
[[nodiscard]] Result<Group> decode_group(const Slice& object);
// The entries share the object's memory. kCorrupt, naming the key: not such an object, or not the
// one that belongs at `first`.
[[nodiscard]] Result<Group> decode_group(const Slice& object, Position first);

}  // namespace weir::metadata::object_log
