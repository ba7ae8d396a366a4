// The last 16 bytes of an object, which say what it is: kind, version of the format, two zero
// bytes, a CRC-32C, and eight letters. What the CRC is of, the kind says. Pure.
#pragma once
#include "base/byte_writer.h"
#include "base/bytes.h"
#include "base/error.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::storage {

constexpr std::string_view kObjectMagic = "WEIR-OBJ";
constexpr std::size_t kTrailerSize = 16;

// 2 is kept for objects that are made of several WAL objects.
enum class ObjectKind : std::uint8_t { kWal = 1, kSnapshotManifest = 3, kStoreMarker = 4 };

struct ObjectTrailer {
  std::uint8_t kind = 0;  // an ObjectKind, or one that a newer Weir writes
  std::uint8_t version = 0;
  std::uint16_t reserved = 0;
  std::uint32_t crc = 0;
};

// Of an object or the end of one; nothing: it does not end like an object of Weir.
[[nodiscard]] std::optional<ObjectTrailer> object_trailer(Bytes object);

// For kinds whose CRC is of everything before the trailer:
void add_object_trailer(ByteWriter& out, ObjectKind kind, std::uint8_t version);
// Whether `object` is a whole object of this kind. `what` names the kind in messages. kCorrupt;
// kInvalid: a newer Weir wrote it.
[[nodiscard]] Status check_object_trailer(Bytes object, ObjectKind kind, std::uint8_t version,
                                          std::string_view what);

}  // namespace weir::storage
