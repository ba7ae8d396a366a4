// The thread of a PostgresLog and what happens on it: connecting again and again, sending what
// callers queued, polling. Internal to PostgresLog. Public calls from any thread.
#pragma once
#include "metadata/log/postgres_appends.h"
#include "metadata/log/postgres_connection.h"
#include "metadata/log/postgres_log.h"
#include "metadata/log/postgres_schema.h"
#include "metadata/log/tail_watch.h"
#include "runtime/notifier.h"
#include "runtime/oneshot.h"
#include "runtime/rng.h"
#include "runtime/task_group.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace weir::metadata {

class PostgresLog::Worker {
 public:
  Worker(PostgresTarget target, Clock& clock, PostgresOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Until the first attempt to connect has ended. Blocks.
  [[nodiscard]] Status wait_first_attempt() { return first_attempt_.get_future().get(); }
  // `incarnation`: when the call began.
  Task<Result<Appended>> append(Slice entry, Position known, std::uint64_t incarnation);
  // An empty answer: there is no log yet, so everything in it is empty. `begins`: the tables are
  // made for it where there are none, as for an append.
  Task<Result<PgAnswer>> ask(std::vector<PgStep> steps, bool begins = false);
  Task<Result<Position>> tail();
  Task<void> wait_past(Position position, MonoTime deadline);
  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }

 private:
  // Calls that wait for their turn; all of them fail when the connection is lost.
  struct Call {
    std::vector<PgStep> steps;
    bool begins = false;
    OneShot<Result<PgAnswer>> done;
  };

  std::optional<Error> admit() const;  // under the lock
  Task<void> run();
  // False: connected, but there are no tables, and nobody has needed them so far.
  Task<Result<bool>> connect();
  Task<Result<bool>> begin_session(PgMissing missing);
  // Answers calls as of an empty log until there are tables: another broker has made them, or a
  // call that writes needs them.
  Task<Status> be_empty();
  [[nodiscard]] std::size_t calls_on_empty(PgMissing& missing) const;
  void answer_as_empty(std::size_t calls);
  void end_first_attempt(const Status& status);
  void go_down(const Error& reason);
  // Sends what is queued, as far as the limits of what is under way go.
  void pump();
  bool send_call();
  bool send_group();
  Task<void> poll();

  const PostgresOptions options_;
  Clock& clock_;
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  TaskGroup group_;
  TailWatch watch_;
  std::atomic<std::uint64_t> incarnation_ = 0;
  std::atomic<int> waiting_ = 0;  // tasks in wait_past
  Notifier somebody_waits_;
  std::promise<Status> first_attempt_;

  // Of the thread.
  PostgresTarget target_;
  Rng rng_ = Rng::from_entropy();
  std::shared_ptr<PostgresConnection> connection_;
  std::optional<Error> lost_;  // why this connection is
  Notifier changed_;           // the connection is lost; without a session: somebody calls
  bool first_attempt_ended_ = false;
  int groups_in_flight_ = 0;

  mutable std::mutex mutex_;
  std::deque<Call> calls_;
  AppendQueue appends_;
  bool up_ = false;
  std::optional<Error> down_;  // why calls fail at once

  std::thread thread_;
};

}  // namespace weir::metadata
