// The thread of a SqliteLog and what happens on it: group commit, polling for others' appends,
// re-opening a replaced file. Internal to SqliteLog. Public calls from any thread; the file is
// touched on the thread of the worker only.
#pragma once
#include "metadata/log/append_queue.h"
#include "metadata/log/metadata_log.h"
#include "metadata/log/sqlite_file.h"
#include "metadata/log/sqlite_log.h"
#include "metadata/log/tail_watch.h"
#include "runtime/run_on.h"

#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace weir::metadata {

// kWrite: a log that is missing, and never was there, begins.
enum class SqliteAccess : std::uint8_t { kRead, kWrite };

class SqliteLog::Worker {
 public:
  // `file`: none where the log has not begun.
  Worker(std::string path, std::unique_ptr<SqliteFile> file, Clock& clock);
  // Finishes what was posted.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // `incarnation`: when the call began.
  Task<Result<Appended>> append(Slice entry, Position known, std::uint64_t incarnation);
  Task<void> wait_past(Position position, MonoTime deadline);
  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }
  // Runs `call` with the file on the thread, if it is still the one of now. Where the log has not
  // begun and need not, the answer is that of an empty one: nothing.
  template <typename T, typename F>
  Task<Result<T>> perform(F call, SqliteAccess access = SqliteAccess::kRead) {
    const std::uint64_t began = incarnation_;
    co_return co_await run_on(thread_.get_executor(), [this, began, access, &call]() -> Result<T> {
      WEIR_TRY(SqliteFile* const file, current_file(access));
      if (began != incarnation_) return std::unexpected(replaced());
      if (file == nullptr) return Result<T>();
      Result<T> result = call(*file);
      if (!result) look_for_damage(result.error());
      return result;
    });
  }

 private:
  // The file, opened anew if another has taken its place: then the incarnation is another, too.
  // Null: the log has not begun.
  [[nodiscard]] Result<SqliteFile*> current_file(SqliteAccess access);
  [[nodiscard]] Error replaced() const;
  // What was opened is read no more after an error that tells that it is no good.
  void look_for_damage(const Error& error);
  void write_group();
  void write(std::vector<PendingAppend> group);
  void fail_older(std::vector<PendingAppend>& group) const;
  [[nodiscard]] std::vector<PendingAppend> take_group();
  void answer(SqliteFile& file, std::vector<PendingAppend>& group, Position last);
  void checkpoint(SqliteFile& file);
  void poll();
  void set_poll_timer();

  const std::string path_;
  Clock& clock_;
  std::unique_ptr<SqliteFile> file_;  // of the thread
  bool may_begin_;                    // of the thread: there never was a file
  // Grows when a file is closed, on the thread: no two files are read or written under one.
  std::atomic<std::uint64_t> incarnation_ = 0;
  Duration poll_delay_;  // of the thread
  TailWatch watch_;

  std::mutex mutex_;
  AppendQueue queue_;
  bool writing_ = false;  // write_group is posted or runs
  int waiting_ = 0;       // tasks in wait_past
  bool polling_ = false;  // the timer is set or poll runs
  bool closing_ = false;
  std::shared_ptr<Timer> poll_timer_;

  boost::asio::thread_pool thread_{1};  // last: it ends before what its work uses
};

}  // namespace weir::metadata
