// The manifest of a snapshot: its chunks, and where they lie in the object store. Chunks are named
// by the SHA-256 of their bytes. docs/formats/snapshot.md describes keys and bytes. Values.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/sha256.h"
#include "base/units.h"
#include "metadata/log/metadata_log.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::metadata {

constexpr std::string_view kSnapshotPrefix = "snapshots/";

struct SnapshotChunk {
  std::string name;  // the state's name for it, once in a snapshot; at most 1024 bytes
  Position written_at =
      0;  // the position of the snapshot that wrote it; it and later ones share it
  ByteCount size = 0;
  Sha256 digest{};
};

struct SnapshotManifest {
  Position position = 0;
  std::vector<SnapshotChunk> chunks;
};

// kInvalid for a name that is empty or too long.
[[nodiscard]] Status check_chunk_name(std::string_view name);

[[nodiscard]] Slice encode_manifest(const SnapshotManifest& manifest);
// Errors: kCorrupt; kInvalid for one that a newer Weir wrote.
[[nodiscard]] Result<SnapshotManifest> decode_manifest(Bytes bytes);

[[nodiscard]] std::string chunk_key(const SnapshotChunk& chunk);
// Of the snapshot of `position` that the broker of this epoch writes, and the digest of its bytes:
// positions and epochs come again in a log that was put back to an older state.
[[nodiscard]] std::string manifest_key(Position position, BrokerEpoch writer, const Sha256& digest);

// What a key below kSnapshotPrefix names; nothing for a key that is none of ours.
struct SnapshotKey {
  Position position = 0;
  bool is_manifest = false;
};
[[nodiscard]] std::optional<SnapshotKey> parse_snapshot_key(std::string_view key);

}  // namespace weir::metadata
