#include "metadata/log/postgres_appends.h"

#include "metadata/log/log_rules.h"
#include "metadata/log/postgres_schema.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::metadata {
Result<std::vector<LogEntry>> pg_entries(const PgRows& rows, int column, Position after) {
  std::vector<LogEntry> entries;
  for (std::size_t row = 0; row < pg_row_count(rows); ++row) {
    if (pg_is_null(rows, row, column)) break;
    WEIR_TRY(const Position position, pg_integer(rows, row, column));
    WEIR_TRY(const Bytes bytes, pg_bytes(rows, row, column + 1));
    if (position != ++after) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("postgres: metadata log entry {} is missing", after));
    }
    entries.push_back({position, Slice::copy_of(bytes)});
  }
  return entries;
}

std::vector<PgStep> AppendGroup::steps() const {
  std::vector<Slice> entries;
  Position known = appends_.front().known;
  for (const PendingAppend& append : appends_) {
    entries.push_back(append.entry);
    known = std::min(known, append.known);
  }
  PgParams earlier;
  earlier.integer(known).integer(static_cast<std::int64_t>(kAppendAnswerBytes));
  std::vector<PgStep> steps;
  steps.push_back(PgStep::run(kPgAppend, std::move(PgParams().byte_strings(entries))));
  steps.push_back(PgStep::run(kPgEarlier, std::move(earlier)));
  return steps;
}

Result<Position> AppendGroup::settle(const Result<PgAnswer>& answer) {
  auto last = answer ? settle_good(*answer) : std::unexpected(answer.error());
  if (!last) fail_all(appends_, last.error());
  return last;
}

Result<Position> AppendGroup::settle_good(const PgAnswer& answer) {
  WEIR_TRY(const Position first, pg_integer(answer.at(0), 0, 0));
  const PgRows& rows = answer.at(1);
  Position before = 0;
  if (pg_row_count(rows) > 0) {
    WEIR_TRY(before, pg_integer(rows, 0, 0));
    --before;
  }
  WEIR_TRY(const std::vector<LogEntry> earlier, pg_entries(rows, 0, before));
  std::vector<LogEntry> own;
  for (const PendingAppend& append : appends_) {
    own.push_back({first + static_cast<Position>(own.size()), append.entry});
  }
  for (std::size_t i = 0; i < appends_.size(); ++i) {
    const Position position = own[i].position;
    AnswerEntries entries(kAppendAnswerBytes);
    const Position next = add_run(entries, earlier, appends_[i].known + 1, first - 1);
    if (next >= first) add_run(entries, own, next, position);
    appends_[i].done.set(Appended{position, entries.release()});
  }
  return own.back().position;
}

}  // namespace weir::metadata
