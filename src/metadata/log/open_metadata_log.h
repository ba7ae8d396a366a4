// Opens a metadata log by URL: sqlite:PATH or memory: (volatile: for tests and --dev). Blocks: for
// the start of a process.
#pragma once
#include "metadata/log/metadata_log.h"

#include <memory>
#include <string_view>

namespace weir::metadata {

// The log keeps a reference to `clock`. kInvalid: a URL of another kind.
[[nodiscard]] Result<std::unique_ptr<MetadataLog>> open_metadata_log(std::string_view url,
                                                                     Clock& clock);

}  // namespace weir::metadata
