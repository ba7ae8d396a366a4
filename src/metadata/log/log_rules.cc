#include "metadata/log/log_rules.h"

#include <fmt/format.h>

namespace weir::metadata {
namespace {

// Bounds the memory of an answer made of tiny entries.
constexpr std::size_t kMaxAnswerEntries = 16'384;

}  // namespace

Status check_append(const Slice& entry, Position known) {
  if (entry.empty()) return fail(ErrorCode::kRefused, "a metadata log entry has at least one byte");
  if (entry.size() > kMaxEntryBytes) {
    return fail(ErrorCode::kRefused,
                fmt::format("a metadata log entry of {} bytes; at most {} are allowed",
                            entry.size(), kMaxEntryBytes));
  }
  Status known_may_be = check_position(known);
  if (!known_may_be) known_may_be.error().code = ErrorCode::kRefused;
  return known_may_be;
}

Status check_position(Position position) {
  if (position >= 0) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("metadata log position {}; positions are not negative", position));
}

Status check_snapshot(const SnapshotRef& ref, Position tail) {
  if (ref.manifest_key.empty()) {
    return fail(ErrorCode::kInvalid,
                fmt::format("snapshot at position {} without a manifest key", ref.position));
  }
  if (ref.position >= 1 && ref.position <= tail) return {};
  return fail(
      ErrorCode::kInvalid,
      fmt::format("snapshot {} at position {}, outside of the metadata log, which ends at {}",
                  ref.manifest_key, ref.position, tail));
}

Status check_trim(Position upto, const SnapshotRef& latest) {
  if (upto <= latest.position) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("trim of the metadata log up to {}, but the latest snapshot is at {}",
                          upto, latest.position));
}

std::unexpected<Error> trimmed_away(Position after, Position trimmed) {
  return fail(ErrorCode::kNotFound,
              fmt::format("metadata log entry {} is trimmed away; the first one left is {}",
                          after + 1, trimmed + 1));
}

bool AnswerEntries::takes(ByteCount size) const {
  if (entries_.empty()) return true;
  return bytes_ + size <= limit_ && entries_.size() < kMaxAnswerEntries;
}

void AnswerEntries::add(LogEntry entry) {
  bytes_ += entry.bytes.size();
  entries_.push_back(std::move(entry));
}

Position add_run(AnswerEntries& answer, std::span<const LogEntry> run, Position from,
                 Position upto) {
  if (run.empty() || from < run.front().position) return from;
  for (; from <= upto && from <= run.back().position; ++from) {
    const LogEntry& entry = run[static_cast<std::size_t>(from - run.front().position)];
    if (!answer.takes(entry.bytes.size())) break;
    answer.add(entry);
  }
  return from;
}

}  // namespace weir::metadata
