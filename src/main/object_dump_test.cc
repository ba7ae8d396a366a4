#include "main/object_dump.h"

#include "base/sha256.h"
#include "metadata/snapshot_manifest.h"
#include "metadata/store_marker.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using storage::DumpFormat;

std::string text_of(const Slice& object, const std::string& path) {
  auto dump = dump_object(object, path, DumpFormat::kText);
  return dump ? dump->text : dump.error().to_string();
}

TEST(DumpObject, SaysWhatAManifestHolds) {
  const metadata::SnapshotManifest manifest{
      12, {{.name = "head", .written_at = 7, .size = 30, .digest = {}}}};
  const Slice object = metadata::encode_manifest(manifest);
  EXPECT_EQ(text_of(object, "m"),
            "the manifest of a snapshot of position 12, 1 chunks\n\nhead: 30 "
            "bytes, snapshots/00000000000000000007/" +
                std::string(64, '0') + "\n\nintact\n");
  EXPECT_EQ(text_of(object.sub(1), "m"), "corrupt: snapshot manifest: its checksum does not match");
}

TEST(DumpObject, KnowsTheMarker) {
  EXPECT_EQ(text_of(metadata::encode_store_marker({1, 2}), "cluster"),
            "a marker of cluster AAAAAAAAAAEAAAAAAAAAAg\n\nintact\n");
}

TEST(DumpObject, KnowsSmallObjectsOfALogByTheirKeys) {
  const Slice mark = Slice::copy_of("trimmed");
  EXPECT_EQ(text_of(mark, "x/log/trims/00000000000000000009"),
            "a mark of the metadata log: entries up to 9 are gone\n\nintact\n");
  EXPECT_EQ(text_of(mark, "log/closed/00000000000000000001"),
            "a mark of the metadata log: entries 1025 to 2048 may be deleted\n\nintact\n");
  EXPECT_EQ(text_of(mark, "log/trims/9"),
            "corrupt: it does not end in WEIR-OBJ: it is cut short, or no object of Weir");
}

TEST(DumpObject, ComparesAChunkWithItsName) {
  const Slice bytes = Slice::copy_of(std::string("\x04\0\0", 3));  // no partitions
  const std::string name = "snapshots/00000000000000000007/" + to_hex(sha256(bytes.bytes()));
  EXPECT_EQ(text_of(bytes, name), "a chunk of a snapshot: 0 partitions\n\nintact\n");
  EXPECT_TRUE(text_of(Slice::copy_of("other"), name).starts_with("corrupt: a chunk of a snapshot"));
}

}  // namespace
}  // namespace weir
