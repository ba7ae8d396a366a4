// Makes a fresh connection ready for the metadata log: settings, checks of the server, tables,
// prepared statements, LISTEN. Internal to the postgres backend.
#pragma once
#include "metadata/log/postgres_connection.h"
#include "metadata/log/postgres_log.h"
#include "metadata/log/postgres_schema.h"

#include <optional>

namespace weir::metadata {

// The log's tail; nothing where there are no tables and they are left so: the session has not
// begun, and can be begun later. kInvalid: the server is of no use as it is (too old, not durable,
// a newer schema). kUnavailable: it may be later (a standby, a restore under way).
[[nodiscard]] Task<Result<std::optional<Position>>> pg_begin_session(PostgresConnection& connection,
                                                                     const PostgresOptions& options,
                                                                     PgMissing missing);

}  // namespace weir::metadata
