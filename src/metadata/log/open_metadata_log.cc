#include "metadata/log/open_metadata_log.h"

#include "metadata/log/memory_log.h"
#include "metadata/log/object_log.h"
#include "metadata/log/postgres_log.h"
#include "metadata/log/sqlite_log.h"

#include <fmt/format.h>

namespace weir::metadata {

bool is_log_in_store(std::string_view url) { return url == "object:"; }

Result<std::unique_ptr<MetadataLog>> open_metadata_log(std::string_view url, Clock& clock,
                                                       LogOptions options) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (url == "memory:" && options.missing == MissingLog::kCreate)
    return std::make_unique<MemoryLog>(clock);
  if (url.starts_with(kSqlite)) {
    return SqliteLog::open(std::string(url.substr(kSqlite.size())), clock, options.missing);
  }
  if (url.starts_with("postgres://") || url.starts_with("postgresql://")) {
    return PostgresLog::open(std::string(url), clock, {.allow_unsafe = options.allow_unsafe});
  }
  if (is_log_in_store(url)) {
    if (options.store == nullptr) {
      return fail(ErrorCode::kInvalid,
                  "metadata log object: lies in the object store: name it, too");
    }
    return ObjectLog::open(*options.store, options.store_url, clock, options.executor,
                           {.missing = options.missing, .probe = !options.allow_unsafe});
  }
  // The rest of the URL may hold a password.
  return fail(
      ErrorCode::kInvalid,
      fmt::format("metadata log \"{}…\": write sqlite:PATH, postgres://HOST/DATABASE, object:, or "
                  "memory: for tests",
                  url.substr(0, url.find(':'))));
}

}  // namespace weir::metadata
