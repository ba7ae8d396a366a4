// One connection to PostgreSQL in libpq's pipeline mode, driven by the readiness of its socket.
// Batches are sent at once and answered in their order. Internal to the postgres backend. All
// calls, and everything that is called, on one executor (one thread).
//
// A server that is silent for `patience` while something is asked of it counts as dead. When the
// connection is lost, what was sent is answered with kTimeout or kUnavailable, and its outcome is
// unknown.
#pragma once
#include "metadata/log/postgres_batch.h"
#include "metadata/log/postgres_target.h"
#include "runtime/clock.h"
#include "runtime/lazy_deadline.h"
#include "runtime/oneshot.h"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace weir::metadata {

class PostgresConnection : public std::enable_shared_from_this<PostgresConnection> {
 public:
  PostgresConnection(Executor executor, Clock& clock, Duration patience);
  ~PostgresConnection();
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  // Connects, at most for the URL's connect_timeout or `patience`. After a time-out, `target`
  // begins with another of its hosts.
  Task<Status> open(PostgresTarget& target);
  void send(PgBatch batch);
  Task<Result<PgAnswer>> ask(std::vector<PgStep> steps);
  // Batches without an answer.
  [[nodiscard]] std::size_t in_flight() const { return sent_.size(); }

  void on_notify(std::function<void(std::string_view payload)> call) { on_notify_ = call; }
  // Once, after the batches were answered; not after close().
  void on_lost(std::move_only_function<void(Error)> call) { on_lost_ = std::move(call); }
  // Ends the connection, answering what was sent with `error`.
  void close(Error error);

 private:
  struct Sent {
    std::move_only_function<void(Result<PgAnswer>)> done;
    std::size_t commits = 0;  // to come
    PgAnswer answer;
    std::optional<Error> error;
  };

  Task<Status> poll_until_open();
  Task<Status> wait_ready(PostgresPollingStatusType wanted);
  bool send_step(const PgStep& step);
  void start_reading();
  void on_readable();
  void flush();
  void read_answers();
  void take(PgRows rows);
  void tell_notifications();
  void set_deadline();
  void passed();
  void lose(Error error);
  [[nodiscard]] Error broken() const;

  const Executor executor_;
  Clock& clock_;
  const Duration patience_;
  PgConnection connection_;
  std::optional<boost::asio::posix::stream_descriptor> socket_;
  LazyDeadline deadline_;
  bool connecting_ = false;
  bool timed_out_ = false;
  bool closed_ = false;
  bool waits_to_write_ = false;
  std::deque<Sent> sent_;
  std::function<void(std::string_view)> on_notify_;
  std::move_only_function<void(Error)> on_lost_;
};

}  // namespace weir::metadata
