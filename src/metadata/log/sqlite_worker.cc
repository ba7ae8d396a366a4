#include "metadata/log/sqlite_worker.h"

#include "metadata/log/log_rules.h"
#include "runtime/log.h"

#include <boost/asio/post.hpp>

namespace weir::metadata {
namespace {

using std::chrono::milliseconds;

// A wake-up costs about 45 us of CPU: 0.1 % of a core when nothing happens.
constexpr Duration kShortestPoll = milliseconds(5);
constexpr Duration kLongestPoll = milliseconds(40);

// What each append of a group brings along: earlier entries from the file, read once for all where
// possible, then the group's.
class GroupAnswers {
 public:
  GroupAnswers(SqliteFile& file, std::vector<LogEntry> group)
      : file_(file), first_(group.front().position), group_(std::move(group)) {}

  std::vector<LogEntry> entries(Position known, Position own) {
    AnswerEntries answer(kAppendAnswerBytes);
    Position next = known + 1;
    if (next < first_) {
      if (!covers(next)) earlier_ = read_earlier(known);
      next = add_run(answer, earlier_, next, first_ - 1);
    }
    if (next >= first_) add_run(answer, group_, next, own);
    return answer.release();
  }

 private:
  [[nodiscard]] bool covers(Position position) const {
    return !earlier_.empty() && earlier_.front().position <= position &&
           earlier_.back().position >= position;
  }
  // The appends stand already: an error here only makes the answer shorter.
  [[nodiscard]] std::vector<LogEntry> read_earlier(Position known) {
    return file_.read(known, first_, kAppendAnswerBytes).value_or(std::vector<LogEntry>());
  }

  SqliteFile& file_;
  Position first_;
  std::vector<LogEntry> group_;
  std::vector<LogEntry> earlier_;
};

}  // namespace

SqliteLog::Worker::Worker(std::string path, std::unique_ptr<SqliteFile> file, Clock& clock)
    : path_(std::move(path)),
      clock_(clock),
      file_(std::move(file)),
      may_begin_(!file_),
      poll_delay_(kShortestPoll) {}

SqliteLog::Worker::~Worker() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    if (poll_timer_) poll_timer_->cancel();
    poll_timer_.reset();
  }
  thread_.join();
}

Result<SqliteFile*> SqliteLog::Worker::current_file(SqliteAccess access) {
  if (file_ && file_->is_current()) return file_.get();
  if (file_) {
    log::warn("metadata.log.replaced", {{"path", path_}});
    ++incarnation_;
    file_.reset();
  }
  if (may_begin_ && access == SqliteAccess::kRead && !SqliteFile::is_begun(path_)) return nullptr;
  auto opened = SqliteFile::open(path_, may_begin_ ? MissingLog::kCreate : MissingLog::kFail);
  if (!opened) return std::unexpected(std::move(opened).error().in("metadata log"));
  file_ = std::move(*opened);
  may_begin_ = false;
  return file_.get();
}

Error SqliteLog::Worker::replaced() const {
  return {ErrorCode::kUnavailable, "metadata log: " + path_ + " was opened anew meanwhile"};
}

void SqliteLog::Worker::look_for_damage(const Error& error) {
  if (error.code != ErrorCode::kCorrupt || !file_) return;
  static log::RateLimit limit(std::chrono::seconds(10));
  log::warn(limit, "metadata.log.damaged", {{"path", path_}, {"error", error}});
  ++incarnation_;
  file_->keep_journal();
  file_.reset();
}

Task<Result<Appended>> SqliteLog::Worker::append(Slice entry, Position known,
                                                 std::uint64_t incarnation) {
  WEIR_CO_CHECK(check_append(entry, known));
  OneShot<Result<Appended>> done;
  {
    std::lock_guard lock(mutex_);
    Status queued = queue_.push({std::move(entry), known, done, incarnation});
    if (!queued) co_return std::unexpected(queued.error().in(path_));
    if (!writing_) boost::asio::post(thread_, [this] { write_group(); });
    writing_ = true;
  }
  co_return co_await done.wait();
}

std::vector<PendingAppend> SqliteLog::Worker::take_group() {
  std::lock_guard lock(mutex_);
  return queue_.take_group();
}

// Who appends under an older incarnation has not seen what the file of this one holds. Nothing of
// theirs is written.
void SqliteLog::Worker::fail_older(std::vector<PendingAppend>& group) const {
  std::erase_if(group, [this](PendingAppend& pending) {
    if (pending.incarnation == incarnation_) return false;
    pending.done.set(std::unexpected(replaced()));
    return true;
  });
}

void SqliteLog::Worker::write(std::vector<PendingAppend> group) {
  auto file = current_file(SqliteAccess::kWrite);
  if (!file) return fail_all(group, file.error());
  fail_older(group);
  if (group.empty()) return;
  std::vector<Slice> entries;
  for (const PendingAppend& pending : group) entries.push_back(pending.entry);
  auto last = (*file)->append(entries);
  if (!last) {
    look_for_damage(last.error());
    return fail_all(group, last.error());
  }
  answer(**file, group, *last);
  watch_.set(*last);
  checkpoint(**file);
}

void SqliteLog::Worker::write_group() {
  write(take_group());
  std::lock_guard lock(mutex_);
  writing_ = !queue_.empty();
  // Posted, not looped: reads and trims get their turn in between.
  if (writing_) boost::asio::post(thread_, [this] { write_group(); });
}

void SqliteLog::Worker::answer(SqliteFile& file, std::vector<PendingAppend>& group, Position last) {
  const Position first = last - static_cast<Position>(group.size()) + 1;
  std::vector<LogEntry> entries;
  for (const PendingAppend& pending : group) {
    entries.push_back({first + static_cast<Position>(entries.size()), pending.entry});
  }
  GroupAnswers answers(file, std::move(entries));
  for (Position own = first; PendingAppend & pending : group) {
    pending.done.set(Appended{own, answers.entries(pending.known, own)});
    ++own;
  }
}

void SqliteLog::Worker::checkpoint(SqliteFile& file) {
  bool idle = false;
  {
    std::lock_guard lock(mutex_);
    idle = queue_.empty();
  }
  static log::RateLimit limit(std::chrono::seconds(10));
  if (auto done = file.checkpoint(idle); !done) {
    log::warn(limit, "metadata.log.checkpoint.failed", {{"path", path_}, {"error", done.error()}});
  }
}

Task<void> SqliteLog::Worker::wait_past(Position position, MonoTime deadline) {
  {
    std::lock_guard lock(mutex_);
    ++waiting_;
    if (!polling_) set_poll_timer();
  }
  co_await watch_.wait_past(position, clock_, deadline);
  std::lock_guard lock(mutex_);
  --waiting_;
}

void SqliteLog::Worker::set_poll_timer() {
  polling_ = !closing_ && waiting_ > 0;
  if (!polling_) return;
  poll_timer_ = clock_.call_after(poll_delay_, thread_.get_executor(), [this] { poll(); });
}

void SqliteLog::Worker::poll() {
  const Position before = watch_.tail();
  if (auto file = current_file(SqliteAccess::kRead); file && *file != nullptr) {
    auto tail = (*file)->tail();
    if (tail) watch_.set(*tail);
    if (!tail) look_for_damage(tail.error());
  }
  const Duration delay =
      watch_.tail() == before ? std::min(poll_delay_ * 2, kLongestPoll) : kShortestPoll;
  std::lock_guard lock(mutex_);
  poll_delay_ = delay;
  set_poll_timer();
}

}  // namespace weir::metadata
