#include "main/object_dump.h"

#include "base/byte_reader.h"
#include "base/sha256.h"
#include "kafka/protocol/json_writer.h"
#include "metadata/log/object_log_format.h"
#include "metadata/snapshot_manifest.h"
#include "metadata/state/record.h"
#include "metadata/state/snapshot_codec.h"
#include "metadata/store_marker.h"
#include "storage/object_trailer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace weir {
namespace {

namespace object_log = metadata::object_log;
using storage::DumpFormat;
using storage::WalDump;

// A JSON document of named texts and numbers, and at last perhaps a list.
class Document {
 public:
  explicit Document(std::string_view kind) {
    out_.begin_object();
    text("kind", kind);
  }
  void text(std::string_view key, std::string_view value) {
    out_.key(key);
    out_.string(value);
  }
  void number(std::string_view key, std::int64_t value) {
    out_.key(key);
    out_.number(value);
  }
  kafka::JsonWriter& list(std::string_view key) {
    out_.key(key);
    out_.begin_array();
    return out_;
  }
  void end_list() { out_.end_array(); }
  // All checks held: the others are errors.
  WalDump finish() {
    out_.key("intact");
    out_.boolean(true);
    out_.end_object();
    return {.text = out_.release() + "\n"};
  }

 private:
  kafka::JsonWriter out_;
};

WalDump intact(std::string text) { return {.text = std::move(text) + "\nintact\n"}; }

Result<WalDump> dump_manifest(Bytes object, DumpFormat format) {
  WEIR_TRY(const metadata::SnapshotManifest manifest, metadata::decode_manifest(object));
  if (format == DumpFormat::kJson) {
    Document out("snapshot-manifest");
    out.number("position", manifest.position);
    kafka::JsonWriter& list = out.list("chunks");
    for (const metadata::SnapshotChunk& chunk : manifest.chunks) {
      list.begin_object();
      list.key("name");
      list.string(chunk.name);
      list.key("key");
      list.string(metadata::chunk_key(chunk));
      list.key("size");
      list.number(static_cast<std::int64_t>(chunk.size));
      list.end_object();
    }
    out.end_list();
    return out.finish();
  }
  std::string text = fmt::format("the manifest of a snapshot of position {}, {} chunks\n\n",
                                 manifest.position, manifest.chunks.size());
  for (const metadata::SnapshotChunk& chunk : manifest.chunks) {
    text += fmt::format("{}: {} bytes, {}\n", chunk.name, chunk.size, metadata::chunk_key(chunk));
  }
  return intact(std::move(text));
}

Result<WalDump> dump_marker(Bytes object, DumpFormat format) {
  WEIR_TRY(const Uuid cluster, metadata::decode_store_marker(object));
  if (format == DumpFormat::kJson) {
    Document out("store-marker");
    out.text("cluster_id", cluster.to_string());
    return out.finish();
  }
  return intact(fmt::format("a marker of cluster {}\n", cluster.to_string()));
}

Result<WalDump> dump_group(const Slice& object, DumpFormat format) {
  WEIR_TRY(const object_log::Group group, object_log::decode_group(object));
  // `weir metadata dump` prints entries in the same way.
  std::vector<std::string> lines;
  for (const metadata::LogEntry& entry : group.entries) {
    WEIR_TRY(lines.emplace_back(), metadata::record_to_json(entry));
  }
  if (format == DumpFormat::kText) {
    return intact(fmt::format("entries {} to {} of the metadata log\n\n{}\n", group.first(),
                              group.last(), fmt::join(lines, "\n")));
  }
  return WalDump{.text = fmt::format(
                     R"({{"kind":"log-entries","first":{},"last":{},"entries":[{}],"intact":true}})"
                     "\n",
                     group.first(), group.last(), fmt::join(lines, ","))};
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

struct PartText {
  std::string operator()(const metadata::SnapshotHead& head) const {
    return fmt::format("its head: position {}, cluster {}, {}", head.position,
                       head.cluster_id.to_string(), counted(head.brokers.size(), "broker"));
  }
  std::string operator()(const metadata::SnapshotTopics& part) const {
    return counted(part.topics.size(), "topic");
  }
  std::string operator()(const metadata::SnapshotGroups& part) const {
    return counted(part.groups.size(), "group");
  }
  std::string operator()(const metadata::PartitionRecords& part) const {
    return counted(part.partitions.size(), "partition");
  }
  std::string operator()(const metadata::ExtentRun& run) const {
    return fmt::format("{} of topic {} partition {}", counted(run.extents.size(), "extent"),
                       run.name.topic.to_string(), run.name.partition);
  }
  std::string operator()(const metadata::ObjectRecords& part) const {
    return counted(part.objects.size(), "object");
  }
};

// Chunks have no mark of their own: their name is the digest of their bytes.
Result<WalDump> dump_chunk(const Slice& object, const std::string& digest, DumpFormat format) {
  if (const std::string actual = to_hex(sha256(object.bytes())); actual != digest) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("a chunk of a snapshot: the SHA-256 of its bytes is {}, its name says "
                            "otherwise",
                            actual));
  }
  WEIR_TRY(const metadata::DecodedPart part, metadata::decode_part(object));
  const std::string holds = std::visit(PartText(), part);
  if (format == DumpFormat::kText) return intact("a chunk of a snapshot: " + holds + "\n");
  Document out("snapshot-chunk");
  out.number("size", static_cast<std::int64_t>(object.size()));
  out.text("holds", holds);
  return out.finish();
}

bool is_digest(std::string_view name) {
  constexpr std::size_t kDigits = 64;
  return name.size() == kDigits && std::ranges::all_of(name, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Small objects of a log in the store that only their key explains; nothing: another object.
std::optional<std::string> explain(Bytes object, std::string_view key) {
  if (auto position = object_log::number_of(object_log::kSnapshots, key)) {
    return fmt::format(
        "the metadata log's latest snapshot, unless there is a later one: position {}, "
        "manifest {}",
        *position, as_text(object));
  }
  if (auto position = object_log::number_of(object_log::kTrims, key)) {
    return fmt::format("a mark of the metadata log: entries up to {} are gone", *position);
  }
  if (auto block = object_log::number_of(object_log::kClosed, key)) {
    return fmt::format("a mark of the metadata log: entries {} to {} may be deleted",
                       *block * object_log::kBlock + 1, (*block + 1) * object_log::kBlock);
  }
  return std::nullopt;
}

}  // namespace

Result<WalDump> dump_object(const Slice& object, const std::string& path, DumpFormat format) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (is_digest(name)) return dump_chunk(object, name, format);
  if (object_log::is_group(object.bytes())) return dump_group(object, format);
  if (const auto at = path.rfind(object_log::kLog); at != std::string::npos) {
    if (auto text = explain(object.bytes(), std::string_view(path).substr(at))) {
      if (format == DumpFormat::kText) return intact(*text + "\n");
      Document out("log-mark");
      out.text("holds", *text);
      return out.finish();
    }
  }
  const auto trailer = storage::object_trailer(object.bytes());
  const auto is = [&trailer](storage::ObjectKind kind) {
    return trailer && trailer->kind == static_cast<std::uint8_t>(kind);
  };
  if (is(storage::ObjectKind::kSnapshotManifest)) return dump_manifest(object.bytes(), format);
  if (is(storage::ObjectKind::kStoreMarker)) return dump_marker(object.bytes(), format);
  if (!trailer) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("it does not end in {}: it is cut short, or no object of Weir",
                            storage::kObjectMagic));
  }
  return storage::dump_wal_object(object.bytes(), format);
}

}  // namespace weir
