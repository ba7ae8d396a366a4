#include "metadata/log/open_metadata_log.h"

#include "metadata/log/memory_log.h"
#include "metadata/log/sqlite_log.h"

#include <fmt/format.h>

namespace weir::metadata {

Result<std::unique_ptr<MetadataLog>> open_metadata_log(std::string_view url, Clock& clock) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (url == "memory:") return std::make_unique<MemoryLog>(clock);
  if (url.starts_with(kSqlite)) {
    return SqliteLog::open(std::string(url.substr(kSqlite.size())), clock);
  }
  return fail(ErrorCode::kInvalid,
              fmt::format("metadata log \"{}\": write sqlite:PATH, or memory: for tests", url));
}

}  // namespace weir::metadata
