#include "metadata/log/object_log_format.h"

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/crc32c.h"

#include <fmt/format.h>

#include <charconv>

namespace weir::metadata::object_log {
namespace {

constexpr std::string_view kMagic = "WEIR-LOG";
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kCrcBytes = 4;
constexpr std::size_t kDigits = 20;  // so that keys are in the order of positions

}  // namespace

storage::ObjectKey key(std::string_view prefix, Position number) {
  return fmt::format("{}{:0{}}", prefix, number, kDigits);
}

std::optional<Position> number_of(std::string_view prefix, std::string_view key) {
  if (!key.starts_with(prefix) || key.size() != prefix.size() + kDigits) return std::nullopt;
  key.remove_prefix(prefix.size());
  Position number = 0;
  const auto parsed = std::from_chars(key.data(), key.data() + key.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size()) return std::nullopt;
  return number;
}

Chain encode_group(const Uuid& writer, Position first, std::span<const Slice> entries) {
  ByteWriter head;
  head.text(kMagic);
  head.u8(kVersion);
  head.uuid(writer);
  head.i64(first);
  head.u32(static_cast<std::uint32_t>(entries.size()));
  for (const Slice& entry : entries) head.u32(static_cast<std::uint32_t>(entry.size()));
  Chain out(head.to_slice());
  for (const Slice& entry : entries) out.append(entry);
  std::uint32_t crc = 0;
  for (const Slice& slice : out.slices()) crc = crc32c(slice.bytes(), crc);
  ByteWriter tail;
  tail.u32(crc);
  out.append(tail.to_slice());
  return out;
}

bool is_group(Bytes object) {
  return object.size() >= kMagic.size() && as_text(object.first(kMagic.size())) == kMagic;
}

Result<Group> decode_group(const Slice& object) {
  ByteReader reader(object.bytes());
  reader.text(kMagic.size());
  reader.u8();
  reader.uuid();
  return decode_group(object, reader.i64());
}

Result<Group> decode_group(const Slice& object, Position first) {
  auto corrupt = [&](std::string_view what) {
    return fail(ErrorCode::kCorrupt, fmt::format("{}: {}", key(kEntries, first), what));
  };
  if (object.size() < kCrcBytes) return corrupt("too short");
  const std::size_t end = object.size() - kCrcBytes;
  ByteReader crc(object.bytes().subspan(end));
  ByteReader reader(object.bytes().first(end));
  if (crc.u32() != crc32c(object.bytes().first(end))) return corrupt("the checksum is wrong");
  if (reader.text(kMagic.size()) != kMagic) return corrupt("no group of log entries");
  if (const auto version = reader.u8(); version != kVersion) {
    return fail(ErrorCode::kInvalid, fmt::format("{} has format {}, this program knows format {}",
                                                 key(kEntries, first), version, kVersion));
  }
  Group group;
  group.writer = reader.uuid();
  if (reader.i64() != first) return corrupt("it belongs at another position");
  const std::uint32_t count = reader.u32();
  if (count == 0 || count > kGroupEntries) return corrupt("the number of entries is wrong");
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t i = 0; i < count; ++i) sizes.push_back(reader.u32());
  if (!reader.ok()) return corrupt("too short");
  std::size_t at = end - reader.remaining();
  for (const std::uint32_t size : sizes) {
    if (size == 0 || size > end - at) return corrupt("an entry's length is wrong");
    group.entries.push_back(
        {first + static_cast<Position>(group.entries.size()), object.sub(at, size)});
    at += size;
  }
  if (at != end) return corrupt("bytes are left over");
  return group;
}

}  // namespace weir::metadata::object_log
