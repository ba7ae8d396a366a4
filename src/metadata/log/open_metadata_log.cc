#include "metadata/log/open_metadata_log.h"

#include "metadata/log/memory_log.h"
#include "metadata/log/object_log.h"
#include "metadata/log/postgres_log.h"
#include "metadata/log/postgres_target.h"
#include "metadata/log/sqlite_log.h"

#include <fmt/format.h>

namespace weir::metadata {

namespace {

constexpr std::string_view kSqlite = "sqlite:";
constexpr std::string_view kMemory = "memory:";

bool is_postgres(std::string_view url) {
  return url.starts_with("postgres://") || url.starts_with("postgresql://");
}

// The rest of the URL may hold a password.
Error unsupported(std::string_view url) {
  return {ErrorCode::kInvalid,
          fmt::format("metadata log \"{}…\": write sqlite:PATH, postgres://HOST/DATABASE, object:, "
                      "or memory: for tests",
                      url.substr(0, url.find(':')))};
}

}  // namespace

Status check_metadata_log_url(std::string_view url) {
  if (is_postgres(url)) {
    WEIR_CHECK(PostgresTarget::parse(std::string(url)));
  } else if (url == kSqlite) {
    return fail(ErrorCode::kInvalid, "the metadata log has no path: write sqlite:PATH");
  } else if (!url.starts_with(kSqlite) && url != kMemory && !is_log_in_store(url)) {
    return std::unexpected(unsupported(url));
  }
  return {};
}

bool is_log_in_store(std::string_view url) { return url == "object:"; }

Result<std::unique_ptr<MetadataLog>> open_metadata_log(std::string_view url, Clock& clock,
                                                       LogOptions options) {
  if (url == kMemory && options.missing == MissingLog::kCreate)
    return std::make_unique<MemoryLog>(clock);
  if (url.starts_with(kSqlite)) {
    return SqliteLog::open(std::string(url.substr(kSqlite.size())), clock, options.missing);
  }
  if (is_postgres(url)) {
    return PostgresLog::open(std::string(url), clock,
                             {.missing = options.missing, .allow_unsafe = options.allow_unsafe});
  }
  if (is_log_in_store(url)) {
    if (options.store == nullptr) {
      return fail(ErrorCode::kInvalid,
                  "metadata log object: lies in the object store: name it, too");
    }
    return ObjectLog::open(*options.store, options.store_url, clock, options.executor,
                           {.missing = options.missing, .probe = !options.allow_unsafe});
  }
  return std::unexpected(unsupported(url));
}

}  // namespace weir::metadata
