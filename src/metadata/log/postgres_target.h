// Where the database is, as libpq understands it: the URL is passed on whole, so PG* environment,
// service files, password files and TLS work as in every program of PostgreSQL. Internal to the
// postgres backend. Values.
#pragma once
#include "base/error.h"
#include "base/secret.h"

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <string_view>

namespace weir::metadata {

struct PgFinish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using PgConnection = std::unique_ptr<PGconn, PgFinish>;

class PostgresTarget {
 public:
  // kInvalid: not a URL that libpq understands. The message holds nothing of a password.
  [[nodiscard]] static Result<PostgresTarget> parse(std::string url);

  // Starts to connect; the caller polls. Resolving host names blocks.
  [[nodiscard]] Result<PgConnection> start() const;
  // Of several hosts, the next start() begins with the second that `connection` was given.
  void rotate_hosts(PGconn* connection);

 private:
  explicit PostgresTarget(Secret url) : url_(std::move(url)) {}

  Secret url_;
  std::string host_;  // empty: as the URL and the environment have it
  std::string host_address_;
  std::string port_;
};

// The value that `connection` uses for a keyword of a connection string.
[[nodiscard]] std::string pg_option(PGconn* connection, std::string_view keyword);
// libpq's last error as one line.
[[nodiscard]] std::string pg_error_text(const PGconn* connection);

}  // namespace weir::metadata
