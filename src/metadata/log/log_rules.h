// What the interface demands of every backend, in one place: checks of arguments, and the limits of
// an answer. Pure.
#pragma once
#include "metadata/log/metadata_log.h"

#include <span>
#include <vector>

namespace weir::metadata {

// Before anything is sent: kRefused.
[[nodiscard]] Status check_append(const Slice& entry, Position known);
// For `after` of read.
[[nodiscard]] Status check_position(Position position);
[[nodiscard]] Status check_snapshot(const SnapshotRef& ref, Position tail);
[[nodiscard]] Status check_trim(Position upto, const SnapshotRef& latest);
[[nodiscard]] std::unexpected<Error> trimmed_away(Position after, Position trimmed);

// Collects the entries of one answer up to a limit of bytes and of number.
class AnswerEntries {
 public:
  explicit AnswerEntries(ByteCount limit) : limit_(limit) {}

  // True if an entry of `size` bytes still belongs to the answer; the first always does.
  [[nodiscard]] bool takes(ByteCount size) const;
  void add(LogEntry entry);
  [[nodiscard]] std::vector<LogEntry> release() { return std::move(entries_); }

 private:
  ByteCount limit_;
  ByteCount bytes_ = 0;
  std::vector<LogEntry> entries_;
};

// Adds the entries [from, upto] of a run without holes, as far as the run reaches and the limit
// allows; the first position that was not added.
Position add_run(AnswerEntries& answer, std::span<const LogEntry> run, Position from,
                 Position upto);

}  // namespace weir::metadata
