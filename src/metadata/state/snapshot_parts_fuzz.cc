// Any pieces as the parts of a snapshot: each decodes or not, and what can be put together to a
// state gives parts from which the same state comes again.
#include "base/fuzz.h"
#include "kafka/protocol/message.h"
#include "metadata/state/snapshot_codec.h"

#include <vector>

namespace {

using namespace weir;
using namespace weir::metadata;
using fuzz::require;

template <typename M>
void check(const M& message) {
  Slice bytes = kafka::encode(message, M::kMaxVersion).value().flatten();
  auto again = kafka::decode<M>(bytes, M::kMaxVersion);
  require(again &&
          kafka::to_json(*again, M::kMaxVersion) == kafka::to_json(message, M::kMaxVersion));
}
void check(const PartitionRecords& records) {
  for (const PartitionRecord& record : records.partitions) {
    require(record.extents.size() ==
            record.runs_begin - record.begin + (record.end - record.runs_end));
  }
}
void check(const ExtentRun&) {}
void check(const ObjectRecords&) {}

Result<State> load(const std::vector<SnapshotPart>& parts) {
  std::vector<DecodedPart> decoded;
  for (const SnapshotPart& part : parts) decoded.push_back(decode_part(part.encode()).value());
  return assemble(std::move(decoded));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ByteReader in(fuzz::input(data, size));
  std::vector<DecodedPart> parts;
  while (auto piece = fuzz::next_piece(in)) {
    auto part = decode_part(Slice::copy_of(*piece));
    if (!part) continue;
    std::visit([](const auto& p) { check(p); }, *part);
    parts.push_back(std::move(*part));
  }
  auto state = assemble(std::move(parts));
  if (!state) return 0;
  auto again = load(plan_snapshot(std::make_shared<const FrozenState>(freeze(*state))));
  require(again && again->hash() == state->hash() && again->position() == state->position());
  return 0;
}
