// The level of the metadata log: what brokers may write to it. A release that adds a command, or a
// version of one, raises kMetadataLevel and says in record.cc from which level on that is written.
// A release that applies an entry in another way raises it, too, and keeps the way of before for
// logs of a lower level. All releases read everything up to their own level. The brokers of a
// cluster agree on the greatest level that all of them know (SetFeatureLevel), so one at a time can
// be replaced by a newer release; a broker that knows less than what was agreed on cannot register
// any more.
// Constants; docs/formats/metadata-log.md, "Versions".
#pragma once
#include <cstdint>
#include <string_view>

namespace weir::metadata {

// The name of the level among the features of the cluster.
constexpr std::string_view kMetadataFeature = "metadata.level";
// The greatest level that this program knows. 0 is that of a log on which nothing was agreed yet.
constexpr std::int16_t kMetadataLevel = 1;

}  // namespace weir::metadata
