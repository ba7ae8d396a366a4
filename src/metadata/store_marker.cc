#include "metadata/store_marker.h"

#include "base/byte_writer.h"
#include "storage/object_trailer.h"

#include <fmt/format.h>

namespace weir::metadata {
namespace {

constexpr std::uint8_t kFormatVersion = 1;

}  // namespace

// As text, so that people can read it.
Slice encode_store_marker(const Uuid& cluster) {
  ByteWriter out;
  out.text(cluster.to_string());
  storage::add_object_trailer(out, storage::ObjectKind::kStoreMarker, kFormatVersion);
  return out.to_slice();
}

Result<Uuid> decode_store_marker(Bytes bytes) {
  constexpr std::string_view kWhat = "store marker";
  WEIR_CHECK(storage::check_object_trailer(bytes, storage::ObjectKind::kStoreMarker, kFormatVersion,
                                           kWhat));
  const std::string_view text = as_text(bytes.first(bytes.size() - storage::kTrailerSize));
  const std::optional<Uuid> cluster = Uuid::parse(text);
  if (cluster && !cluster->is_zero()) return *cluster;
  return fail(ErrorCode::kCorrupt, fmt::format("{}: \"{}\" is no cluster id", kWhat, text));
}

}  // namespace weir::metadata
