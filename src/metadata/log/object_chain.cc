#include "metadata/log/object_chain.h"

#include "runtime/parallel.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::metadata {
namespace {

using object_log::block_of;
using object_log::Group;
using object_log::kBlock;
using object_log::kClosed;
using object_log::kEntries;
using object_log::key;
using object_log::kGroupEntries;
using object_log::kTrims;
using object_log::number_of;

constexpr ByteCount kRecentBytes = 8_MiB;
// So many groups are read one after the other before a list tells which others there are: a list
// costs as much as twelve GETs, and most readers are behind by less.
constexpr std::size_t kGroupsUnlisted = 4;
// With those that are expected, so many are read that way.
constexpr Position kGroupsExpected = 8;
// And so many behind those of a list.
constexpr std::size_t kGroupsListed = 16;
// How often the end is looked for anew because the log was trimmed past it.
constexpr int kTries = 3;
constexpr std::size_t kObjectsOfRead = 256;
constexpr std::size_t kParallel = 16;

ByteCount bytes_of(const Group& group) {
  ByteCount bytes = 0;
  for (const LogEntry& entry : group.entries) bytes += entry.bytes.size();
  return bytes;
}

std::unexpected<Error> missing(Position position) {
  return fail(ErrorCode::kCorrupt,
              fmt::format("metadata log: the object with entry {} is missing", position));
}

std::unexpected<Error> trimmed_meanwhile(Position position) {
  return fail(ErrorCode::kUnavailable,
              fmt::format("metadata log: trimmed past entry {} meanwhile", position));
}

}  // namespace

void ObjectChain::forget() {
  known_ = false;
  expected_ = 0;
  recent_.clear();
  recent_bytes_ = 0;
}

void ObjectChain::add(Group group) {
  if (!known_ || group.first() != tail_ + 1) return;
  tail_ = group.last();
  recent_bytes_ += bytes_of(group);
  recent_.push_back(std::move(group));
  while (recent_bytes_ > kRecentBytes && recent_.size() > 1) {
    recent_bytes_ -= bytes_of(recent_.front());
    recent_.pop_front();
  }
}

void ObjectChain::collect(AnswerEntries& answer, Position from, Position upto) const {
  if (!holds(from)) return;
  for (const Group& group : recent_) {
    if (group.last() < from) continue;
    const Position last = std::min(upto, group.last());
    from = add_run(answer, group.entries, from, last);
    if (from <= last || from > upto) return;
  }
}

Task<Result<Group>> ObjectChain::get(Position first) {
  WEIR_CO_TRY(const Slice object, co_await store_.get(key(kEntries, first)));
  co_return object_log::decode_group(object, first);
}

Task<Status> ObjectChain::read_trims() {
  std::string after;
  while (true) {
    WEIR_CO_TRY(const storage::ListPage page,
                co_await store_.list(std::string(kTrims), after, storage::kMaxListLimit));
    for (const storage::ObjectInfo& object : page.objects) {
      set_trimmed(number_of(kTrims, object.key).value_or(0));
      after = object.key;
    }
    if (!page.more) co_return Status();
  }
}

// Groups lie within blocks, and blocks that are not trimmed as a whole are there as a whole.
Task<Status> ObjectChain::find_end() {
  WEIR_CO_CHECK(co_await read_trims());
  Position last = block_of(trimmed_ + 1) * kBlock;
  std::string after = key(kEntries, last);
  bool more = true;
  bool found = false;
  while (more) {
    WEIR_CO_TRY(const storage::ListPage page,
                co_await store_.list(std::string(kEntries), after, storage::kMaxListLimit));
    for (const storage::ObjectInfo& object : page.objects) {
      after = object.key;
      const auto number = number_of(kEntries, object.key);
      if (number) last = *number;
      found = found || number.has_value();
    }
    more = page.more;
  }
  if (found) {
    auto group = co_await get(last);
    if (!group && group.error().code == ErrorCode::kNotFound) co_return trimmed_meanwhile(last);
    if (!group) co_return std::unexpected(group.error());
    last = group->last();
  }
  if (last < trimmed_) co_return missing(trimmed_);
  tail_ = last;
  known_ = true;
  co_return Status();
}

Task<Status> ObjectChain::advance(Upto upto) {
  if (std::exchange(busy_, true)) {
    OneShot<bool> turn;
    turns_.push_back(turn);
    co_await turn.wait();
  }
  Status status = co_await advance_locked(upto);
  if (turns_.empty()) {
    busy_ = false;
  } else {
    turns_.front().set(true);
    turns_.pop_front();
  }
  co_return status;
}

Task<Status> ObjectChain::advance_locked(Upto upto) {
  for (int tries = 0;;) {
    const bool searched = !known_;
    if (searched) WEIR_CO_CHECK(co_await find_end());
    const Position next = tail_ + 1;
    bool more = false;
    auto read = co_await read_groups(next, upto, more);
    if (!read) {
      // What answers next may be another store than the one that this was read from.
      forget();
      co_return std::unexpected(read.error());
    }
    if (searched || !read->empty() || upto == Upto::kEnd) {
      WEIR_CO_TRY(const bool deleted, co_await marked(next));
      if (deleted) read->clear();
    }
    for (Group& group : *read) add(std::move(group));
    if (known_ && (!more || upto != Upto::kEnd)) co_return Status();
    if (!known_ && ++tries == kTries) co_return trimmed_meanwhile(next);
  }
}

Task<Result<std::vector<Group>>> ObjectChain::peek() {
  bool more = false;
  auto groups = co_await read_groups(tail_ + 1, Upto::kEnd, more);
  if (!groups) forget();
  co_return groups;
}

// The groups from `first` on: all, or some of them when there may be `more`.
Task<Result<std::vector<Group>>> ObjectChain::read_groups(Position first, Upto upto, bool& more) {
  std::vector<Group> groups;
  std::size_t most = kGroupsUnlisted;
  if (upto == Upto::kNext) {
    const auto expected = std::clamp<Position>(expected_ - first + 1, 0, kGroupsExpected);
    most = static_cast<std::size_t>(expected) + 1;
  }
  WEIR_CO_TRY(more, co_await read_one_by_one(first, most, groups));
  if (!more || upto == Upto::kNext) co_return groups;
  WEIR_CO_CHECK(co_await read_listed(groups));
  // Meanwhile some came. Another list would take longer than it does to write the next ones.
  if (upto == Upto::kEnd) {
    WEIR_CO_TRY(more, co_await read_one_by_one(groups.back().last() + 1, kGroupsListed, groups));
  }
  co_return groups;
}

// Adds the groups from `first` on, up to `most` of them. True: there may be more.
Task<Result<bool>> ObjectChain::read_one_by_one(Position first, std::size_t most,
                                                std::vector<Group>& groups) {
  ByteCount bytes = 0;
  for (std::size_t i = 0; i < most && bytes < kRecentBytes; ++i) {
    auto group = co_await get(first);
    if (!group && group.error().code == ErrorCode::kNotFound) co_return false;
    if (!group) co_return std::unexpected(group.error());
    first = group->last() + 1;
    bytes += bytes_of(*group);
    groups.push_back(*std::move(group));
  }
  co_return true;
}

// Adds what follows `groups`, so far as a list shows it: who reads one group after the other may
// never reach a writer that is faster. Where the list is wrong the next GET tells.
Task<Status> ObjectChain::read_listed(std::vector<Group>& groups) {
  const Position last = groups.back().last();
  WEIR_CO_TRY(const storage::ListPage page,
              co_await store_.list(std::string(kEntries), key(kEntries, last), kObjectsOfRead));
  std::vector<Position> firsts;
  ByteCount bytes = 0;
  for (const storage::ObjectInfo& object : page.objects) {
    const auto first = number_of(kEntries, object.key);
    if (!first) continue;
    if (bytes > kRecentBytes) break;
    bytes += object.size;
    firsts.push_back(*first);
  }
  std::vector<std::optional<Group>> read(firsts.size());
  auto read_one = [&](std::size_t i) -> Task<Status> {
    auto group = co_await get(firsts[i]);
    if (group) {
      read[i] = *std::move(group);
      co_return Status();
    }
    // These matter only if they are of the chain.
    const ErrorCode error = group.error().code;
    if (error == ErrorCode::kNotFound || error == ErrorCode::kCorrupt) co_return Status();
    co_return std::unexpected(group.error());
  };
  WEIR_CO_CHECK(co_await for_each_parallel(firsts.size(), kParallel, read_one));
  for (std::optional<Group>& group : read) {
    if (!group || group->first() != groups.back().last() + 1) break;
    groups.push_back(*std::move(group));
  }
  co_return Status();
}

Task<Result<bool>> ObjectChain::marked(Position position) {
  auto mark = co_await store_.head(key(kClosed, block_of(position)));
  if (!mark && mark.error().code == ErrorCode::kNotFound) co_return false;
  forget();
  if (!mark) co_return std::unexpected(mark.error());
  co_return true;
}

Task<Status> ObjectChain::check_mark(Position position) {
  WEIR_CO_TRY(const bool deleted, co_await marked(position));
  if (deleted) co_return trimmed_meanwhile(position);
  co_return Status();
}

Task<Result<std::vector<LogEntry>>> ObjectChain::read(Position after, ByteCount limit) {
  // Of entries that came another way (metadata/sequenced_log.h) it is known that they are there:
  // to stop before them would say that they are not.
  if (after > tail_) {
    WEIR_CO_CHECK(co_await advance(Upto::kEnd));
  } else if (!known_ || after == tail_) {
    WEIR_CO_CHECK(co_await advance(Upto::kSome));
  }
  if (after < trimmed_) co_return trimmed_away(after, trimmed_);
  AnswerEntries answer(limit);
  collect(answer, after + 1, tail_);
  std::vector<LogEntry> entries = answer.release();
  if (!entries.empty() || after >= tail_) co_return entries;
  auto read = co_await read_objects(after, limit);
  if (read) {
    // Else they may be what a broker that slept wrote where entries were deleted.
    Status unmarked = co_await check_mark(after + 1);
    if (unmarked) co_return read;
    read = std::unexpected(unmarked.error());
  }
  // Trimmed by another broker?
  WEIR_CO_CHECK(co_await read_trims());
  if (after < trimmed_) co_return trimmed_away(after, trimmed_);
  co_return read;
}

// The object that holds the entry after `after`, and those that follow, up to `limit`.
Task<Result<std::vector<storage::ObjectInfo>>> ObjectChain::find_objects(Position after,
                                                                         ByteCount limit) {
  const Position before = std::max<Position>(after - static_cast<Position>(kGroupEntries) + 1, 0);
  WEIR_CO_TRY(
      const storage::ListPage page,
      co_await store_.list(std::string(kEntries), key(kEntries, before), storage::kMaxListLimit));
  std::vector<storage::ObjectInfo> objects;
  ByteCount bytes = 0;
  for (const storage::ObjectInfo& object : page.objects) {
    const auto first = number_of(kEntries, object.key);
    if (!first) continue;
    if (*first <= after + 1) {
      objects.clear();
      bytes = 0;
    } else if (objects.empty() || bytes > limit || objects.size() == kObjectsOfRead) {
      break;
    }
    bytes += object.size;
    objects.push_back(object);
  }
  if (objects.empty()) co_return missing(after + 1);
  co_return objects;
}

Task<Result<std::vector<LogEntry>>> ObjectChain::read_objects(Position after, ByteCount limit) {
  WEIR_CO_TRY(const std::vector<storage::ObjectInfo> objects, co_await find_objects(after, limit));
  std::vector<Group> groups(objects.size());
  auto read_one = [&](std::size_t i) -> Task<Status> {
    WEIR_CO_TRY(groups[i], co_await get(*number_of(kEntries, objects[i].key)));
    co_return Status();
  };
  WEIR_CO_CHECK(co_await for_each_parallel(groups.size(), kParallel, read_one));
  AnswerEntries answer(limit);
  Position next = after + 1;
  for (const Group& group : groups) {
    if (group.first() > next || group.last() < next) break;
    next = add_run(answer, group.entries, next, group.last());
    if (next <= group.last()) break;
  }
  if (next == after + 1) co_return missing(next);
  co_return answer.release();
}

}  // namespace weir::metadata
