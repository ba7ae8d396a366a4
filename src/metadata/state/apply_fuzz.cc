// Any pieces as the entries of a metadata log, linked to one another by force: every state machine
// makes the same of them, and its snapshot gives the same state again.
#include "base/big_endian.h"
#include "base/fuzz.h"
#include "metadata/state/snapshot_codec.h"

#include <vector>

namespace {

using namespace weir;
using namespace weir::metadata;
using fuzz::require;

// Where the writer's known position and its hash stand in a record.
constexpr std::size_t kKnown = 29;
constexpr std::size_t kKnownHash = 37;
constexpr std::size_t kHeader = 45;
// More of them are memory and time, and nothing new.
constexpr std::int32_t kMaxPartitions = 300;

std::int32_t partitions_of(const Record& record) {
  std::int64_t most = 0;
  for (const Command& command : record.commands) {
    if (const auto* create = std::get_if<CreateTopics>(&command)) {
      for (const NewTopic& topic : create->topics)
        most = std::max<std::int64_t>(most, topic.partitions);
    }
    if (const auto* more = std::get_if<CreatePartitions>(&command))
      most = std::max<std::int64_t>(most, more->count);
  }
  return static_cast<std::int32_t>(most);
}

// The piece with what the state machine at this point expects of the entry before.
Slice linked(Bytes piece, const State& state) {
  std::vector<std::byte> bytes(piece.begin(), piece.end());
  if (bytes.size() >= kHeader) {
    store_big_endian(bytes.data() + kKnown, state.position());
    store_big_endian(bytes.data() + kKnownHash, state.chain().hash());
  }
  return Slice::of(std::move(bytes));
}

State reloaded(const State& state) {
  auto frozen = std::make_shared<const FrozenState>(freeze(state));
  std::vector<DecodedPart> parts;
  for (const SnapshotPart& part : plan_snapshot(frozen))
    parts.push_back(decode_part(part.encode()).value());
  return assemble(std::move(parts)).value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ByteReader in(fuzz::input(data, size));
  State state;
  State other;
  while (auto piece = fuzz::next_piece(in)) {
    LogEntry entry{.position = state.position() + 1, .bytes = linked(*piece, state)};
    auto record = decode_record(entry.bytes);
    if (record && partitions_of(*record) > kMaxPartitions) continue;
    std::uint64_t before = record ? 0 : state.hash();
    auto applied = state.apply(entry);
    require(applied.has_value() == record.has_value());
    if (!applied) {
      require(state.hash() == before && state.position() == entry.position - 1);
      continue;
    }
    // Whether results are asked for changes nothing.
    require(other.apply(entry, -1).has_value());
  }
  require(other.hash() == state.hash());
  State again = reloaded(state);
  require(again.hash() == state.hash() && again.position() == state.position());
  return 0;
}
