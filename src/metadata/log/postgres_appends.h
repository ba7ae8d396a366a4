// Appends on their way to PostgreSQL: the groups that share a transaction. Internal to the postgres
// backend. Not thread-safe.
#pragma once
#include "metadata/log/append_queue.h"
#include "metadata/log/metadata_log.h"
#include "metadata/log/postgres_batch.h"

#include <vector>

namespace weir::metadata {

// Appends of one transaction.
class AppendGroup {
 public:
  explicit AppendGroup(std::vector<PendingAppend> appends) : appends_(std::move(appends)) {}

  // The transaction, and another one without locks that brings the entries of others.
  [[nodiscard]] std::vector<PgStep> steps() const;
  // Answers each append. The position of the last one.
  Result<Position> settle(const Result<PgAnswer>& answer);

 private:
  Result<Position> settle_good(const PgAnswer& answer);

  std::vector<PendingAppend> appends_;
};

// The entries of an answer to `read` or `earlier`, whose position and bytes are in `column` and the
// next one. kCorrupt: they do not follow `after` without a hole.
[[nodiscard]] Result<std::vector<LogEntry>> pg_entries(const PgRows& rows, int column,
                                                       Position after);

}  // namespace weir::metadata
