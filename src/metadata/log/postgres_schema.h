// The tables of the postgres backend, and every statement on them.
// docs/formats/metadata-postgres.md describes the schema. Internal to the postgres backend.
#pragma once
#include "metadata/log/postgres_connection.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::metadata {

// The names of prepared statements.
constexpr const char* kPgAppend = "append";       // (bytea[]) → position of the first
constexpr const char* kPgEarlier = "earlier";     // (after, bytes) → entries before `append`'s
constexpr const char* kPgRead = "read";           // (after, bytes) → trimmed, tail, entries or NULL
constexpr const char* kPgTail = "tail";           // → tail
constexpr const char* kPgSnapshot = "snapshot";   // → position, key
constexpr const char* kPgSetSnapshot = "set";     // (position, key), if within the log and newer
constexpr const char* kPgSetTrimmed = "trimmed";  // (position), if behind the snapshot
constexpr const char* kPgDelete = "delete";       // some trimmed entries → one row for each
constexpr const char* kPgClusterId = "cluster";   // → text
constexpr const char* kPgSetClusterId = "decide";  // (text), if there is none

[[nodiscard]] std::vector<PgStep> pg_prepare_steps();

// What to do where there are no tables. kLeave: nothing, if they could be made.
enum class PgMissing : std::uint8_t { kCreate, kLeave, kFail };
// Whether the tables are there. Creates them in a transaction that never waits long for others.
// kInvalid: a newer program's tables, or no permission to make them.
[[nodiscard]] Task<Result<bool>> pg_prepare_schema(PostgresConnection& connection,
                                                   PgMissing missing);

}  // namespace weir::metadata
