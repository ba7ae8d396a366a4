// The groups of a bucket log as one chain: where it ends, what was read of it lately. Internal to
// the object backend. One thread (tasks on one executor).
//
// Keys that were deleted could be written again, so a broker that slept while the log was trimmed
// past it would find nothing where it looks for the next group, and could write there, and another
// that slept could read that. Before a block's entries are deleted a mark is written that stays for
// ever; whoever relies on having seen the end, or on having read or written it, looks for the mark
// afterwards. Marks are written in the order of blocks: where one is missing, all later ones are.
#pragma once
#include "metadata/log/log_rules.h"
#include "metadata/log/object_log_format.h"
#include "runtime/oneshot.h"

#include <deque>

namespace weir::metadata {

class ObjectChain {
 public:
  explicit ObjectChain(storage::ObjectStore& store) : store_(store) {}

  // False: advance() has to find the end first.
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] Position tail() const { return tail_; }
  [[nodiscard]] Position trimmed() const { return trimmed_; }
  void set_trimmed(Position upto) { trimmed_ = std::max(trimmed_, upto); }

  enum class Upto {
    kEnd,
    kSome,  // some groups, if there are any; that nothing follows may be the answer of a log that
            // was trimmed past this end
    kNext,  // as kSome, but at most one group behind what is expected
  };
  // Somebody who wrote it says that there is an entry at `position`: a hint.
  void expect(Position position) { expected_ = std::max(expected_, position); }
  [[nodiscard]] Position expected() const { return expected_; }
  // Reads what follows. The first call finds the end.
  Task<Status> advance(Upto upto);
  // The groups that follow, or some of them, which count only after check_mark() of the first.
  Task<Result<std::vector<object_log::Group>>> peek();
  // Success: the block of `position` was not deleted until now. kUnavailable: it was, so what was
  // found there counts for nothing, and the end is to be found anew.
  Task<Status> check_mark(Position position);
  // As MetadataLog::read.
  Task<Result<std::vector<LogEntry>>> read(Position after, ByteCount limit);
  Task<Result<object_log::Group>> get(Position first);
  // What was read or written at the end; nothing happens when it is known.
  void add(object_log::Group group);
  // What was read may be another's by now: the store failed, or comes back as a copy.
  void forget();
  // Whether collect() has the entry at `position`, if the log has it.
  [[nodiscard]] bool holds(Position position) const {
    return !recent_.empty() && position >= recent_.front().first();
  }
  // Adds the entries [from, upto], as far as they are at hand without a hole.
  void collect(AnswerEntries& answer, Position from, Position upto) const;

 private:
  Task<Status> advance_locked(Upto upto);
  // When it is so, or was not found out, the end is forgotten.
  Task<Result<bool>> marked(Position position);
  Task<Status> find_end();
  Task<Result<std::vector<object_log::Group>>> read_groups(Position first, Upto upto, bool& more);
  Task<Result<bool>> read_one_by_one(Position first, std::size_t most,
                                     std::vector<object_log::Group>& groups);
  Task<Status> read_listed(std::vector<object_log::Group>& groups);
  Task<Status> read_trims();
  Task<Result<std::vector<LogEntry>>> read_objects(Position after, ByteCount limit);
  Task<Result<std::vector<storage::ObjectInfo>>> find_objects(Position after, ByteCount limit);

  storage::ObjectStore& store_;
  bool known_ = false;  // where the end is
  Position tail_ = 0;
  Position trimmed_ = 0;
  Position expected_ = 0;
  std::deque<object_log::Group> recent_;  // up to tail_, without a hole
  ByteCount recent_bytes_ = 0;
  // One task at a time moves the end, in the order of their calls: who looks all the time would
  // otherwise keep the others out.
  bool busy_ = false;
  std::deque<OneShot<bool>> turns_;
};

}  // namespace weir::metadata
