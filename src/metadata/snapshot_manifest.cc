#include "metadata/snapshot_manifest.h"

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "storage/object_trailer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace weir::metadata {
namespace {

constexpr std::uint8_t kFormatVersion = 1;
constexpr std::size_t kMaxNameSize = 1024;
// A chunk with a name of one byte.
constexpr std::size_t kLeastChunk = 2 + 8 + 1 + 32;

constexpr std::size_t kPositionDigits = 20;
constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kManifestDigits = 16;
constexpr std::string_view kManifestPart = "manifest-";

template <typename... Args>
std::unexpected<Error> corrupt(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kCorrupt,
              "snapshot manifest: " + fmt::format(format, std::forward<Args>(args)...));
}

std::string folder(Position position) {
  return fmt::format("{}{:0{}}/", kSnapshotPrefix, position, kPositionDigits);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

Status check_chunk(const SnapshotChunk& chunk, Position position) {
  if (auto named = check_chunk_name(chunk.name); !named)
    return corrupt("{}", named.error().message);
  if (chunk.written_at < 1 || chunk.written_at > position) {
    return corrupt("chunk {} of position {} in a snapshot of position {}", chunk.name,
                   chunk.written_at, position);
  }
  return {};
}

SnapshotChunk read_chunk(ByteReader& in) {
  SnapshotChunk chunk;
  chunk.name = in.text(in.uvarint());
  chunk.written_at = in.i64();
  chunk.size = in.uvarlong();
  std::ranges::copy(in.take(chunk.digest.size()), chunk.digest.begin());
  return chunk;
}

}  // namespace

Status check_chunk_name(std::string_view name) {
  if (!name.empty() && name.size() <= kMaxNameSize) return {};
  return fail(ErrorCode::kInvalid, fmt::format("the name of a snapshot chunk has {} bytes; 1 to {} "
                                               "are allowed",
                                               name.size(), kMaxNameSize));
}

Slice encode_manifest(const SnapshotManifest& manifest) {
  ByteWriter out;
  out.i64(manifest.position);
  out.uvarlong(manifest.chunks.size());
  for (const SnapshotChunk& chunk : manifest.chunks) {
    out.uvarlong(chunk.name.size());
    out.text(chunk.name);
    out.i64(chunk.written_at);
    out.uvarlong(chunk.size);
    out.bytes(chunk.digest);
  }
  storage::add_object_trailer(out, storage::ObjectKind::kSnapshotManifest, kFormatVersion);
  return out.to_slice();
}

Result<SnapshotManifest> decode_manifest(Bytes bytes) {
  WEIR_CHECK(storage::check_object_trailer(bytes, storage::ObjectKind::kSnapshotManifest,
                                           kFormatVersion, "snapshot manifest"));
  ByteReader in(bytes.first(bytes.size() - storage::kTrailerSize));
  SnapshotManifest manifest;
  manifest.position = in.i64();
  const std::uint64_t count = in.uvarlong();
  if (!in.ok() || count > in.remaining() / kLeastChunk) return corrupt("it is cut short");
  if (manifest.position < 1) return corrupt("position {}", manifest.position);
  std::unordered_set<std::string_view> names;
  manifest.chunks.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    SnapshotChunk& chunk = manifest.chunks.emplace_back(read_chunk(in));
    if (!in.ok()) return corrupt("it is cut short");
    WEIR_CHECK(check_chunk(chunk, manifest.position));
    if (!names.insert(chunk.name).second) return corrupt("chunk {} stands twice", chunk.name);
  }
  if (!in.done()) return corrupt("{} bytes are left over", in.remaining());
  return manifest;
}

std::string chunk_key(const SnapshotChunk& chunk) {
  return folder(chunk.written_at) + to_hex(chunk.digest);
}

std::string manifest_key(Position position, BrokerEpoch writer, const Sha256& digest) {
  return fmt::format("{}{}{}-{}", folder(position), kManifestPart,
                     to_hex(digest).substr(0, kManifestDigits), writer);
}

std::optional<SnapshotKey> parse_snapshot_key(std::string_view key) {
  if (!key.starts_with(kSnapshotPrefix)) return std::nullopt;
  key.remove_prefix(kSnapshotPrefix.size());
  if (key.size() <= kPositionDigits || key[kPositionDigits] != '/') return std::nullopt;
  SnapshotKey out;
  const char* const end = key.data() + kPositionDigits;
  const auto [stop, error] = std::from_chars(key.data(), end, out.position);
  if (error != std::errc() || stop != end || out.position < 1) return std::nullopt;
  key.remove_prefix(kPositionDigits + 1);
  out.is_manifest = key.starts_with(kManifestPart);
  if (out.is_manifest) {
    key.remove_prefix(kManifestPart.size());
    if (key.size() <= kManifestDigits + 1 || key[kManifestDigits] != '-') return std::nullopt;
    if (!std::ranges::all_of(key.substr(0, kManifestDigits), is_hex_digit)) return std::nullopt;
    if (!std::ranges::all_of(key.substr(kManifestDigits + 1), is_digit)) return std::nullopt;
  } else if (key.size() != kDigestDigits || !std::ranges::all_of(key, is_hex_digit)) {
    return std::nullopt;
  }
  return out;
}

}  // namespace weir::metadata
