#include "storage/object_trailer.h"

#include "base/byte_reader.h"
#include "base/crc32c.h"

#include <fmt/format.h>

namespace weir::storage {

std::optional<ObjectTrailer> object_trailer(Bytes object) {
  if (object.size() < kTrailerSize) return std::nullopt;
  ByteReader in(object.last(kTrailerSize));
  ObjectTrailer trailer;
  trailer.kind = in.u8();
  trailer.version = in.u8();
  trailer.reserved = in.u16();
  trailer.crc = in.u32();
  if (in.text(kObjectMagic.size()) != kObjectMagic) return std::nullopt;
  return trailer;
}

void add_object_trailer(ByteWriter& out, ObjectKind kind, std::uint8_t version) {
  const std::uint32_t crc = crc32c(out.view());
  out.u8(static_cast<std::uint8_t>(kind));
  out.u8(version);
  out.u16(0);
  out.u32(crc);
  out.text(kObjectMagic);
}

Status check_object_trailer(Bytes object, ObjectKind kind, std::uint8_t version,
                            std::string_view what) {
  const auto corrupt = [what](std::string text) {
    return fail(ErrorCode::kCorrupt, fmt::format("{}: {}", what, text));
  };
  const auto trailer = object_trailer(object);
  if (!trailer) return corrupt(fmt::format("it does not end in {}", kObjectMagic));
  if (trailer->kind != static_cast<std::uint8_t>(kind)) {
    return corrupt(fmt::format("it is of kind {}, a {} is of kind {}", trailer->kind, what,
                               static_cast<int>(kind)));
  }
  if (trailer->version > version) {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("{}: format version {} was written by a newer Weir", what, trailer->version));
  }
  if (trailer->version == 0 || trailer->reserved != 0) return corrupt("its trailer is damaged");
  if (trailer->crc != crc32c(object.first(object.size() - kTrailerSize))) {
    return corrupt("its checksum does not match");
  }
  return {};
}

}  // namespace weir::storage
