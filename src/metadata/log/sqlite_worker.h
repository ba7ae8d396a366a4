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

  Task<Result<Appended>> append(Slice entry, Position known);
  Task<void> wait_past(Position position, MonoTime deadline);
  // Runs `call` with the file on the thread. Where the log has not begun and need not, the answer
  // is that of an empty one: nothing.
  template <typename T, typename F>
  Task<Result<T>> perform(F call, SqliteAccess access = SqliteAccess::kRead) {
    co_return co_await run_on(thread_.get_executor(), [this, &call, access]() -> Result<T> {
      WEIR_TRY(SqliteFile* const file, current_file(access));
      return file == nullptr ? Result<T>() : call(*file);
    });
  }

 private:
  // The file, opened anew if another has taken its place. Null: the log has not begun.
  [[nodiscard]] Result<SqliteFile*> current_file(SqliteAccess access);
  void write_group();
  [[nodiscard]] std::vector<PendingAppend> take_group();
  void answer(SqliteFile& file, std::vector<PendingAppend>& group, Position last);
  void checkpoint(SqliteFile& file);
  void poll();
  void set_poll_timer();

  const std::string path_;
  Clock& clock_;
  std::unique_ptr<SqliteFile> file_;  // of the thread
  bool may_begin_;                    // of the thread: there never was a file
  Duration poll_delay_;               // of the thread
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
