// What opening a metadata log does where there is none: brokers begin one, readers must not.
#pragma once

namespace weir::metadata {

enum class MissingLog { kCreate, kFail };

}  // namespace weir::metadata
