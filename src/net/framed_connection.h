// One Kafka connection over a stream: reads frames (net/frame_reader.h), hands them to the handler
// in order, and writes the responses in the order of the requests, those that are ready together in
// one gather write. Requests are pipelined up to a limit: the next is read while earlier ones wait
// for their response.
//
// Owned by its server; lives on one executor, where every call happens; only the handler's Pendings
// are set from elsewhere. It closes itself when it is idle, when a frame comes too slowly
// (FrameLimits), when the client keeps responses from others that need their memory, and when the
// bytes are no requests.
#pragma once
#include "net/frame_reader.h"
#include "net/request_handler.h"
#include "net/stream.h"
#include "runtime/byte_budget.h"
#include "runtime/lazy_deadline.h"
#include "runtime/metrics.h"
#include "runtime/notifier.h"
#include "runtime/task_group.h"

#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace weir::net {

struct ConnectionLimits {
  FrameLimits frame;
  // connections.max.idle.ms: nothing read, nothing written, and no request waits for the broker.
  // It also ends connections whose client does not read its responses. Negative: never.
  Duration idle = std::chrono::minutes(10);
  // Requests without a response; more are not read.
  std::size_t unanswered_max = 256;
  // No request is read while more of responses than this waits for the client to take it.
  ByteCount unsent_max = 256_KiB;
  // While requests wait for memory that responses hold: a client takes so much of its response, or
  // the rest, in this time.
  ByteCount taken_min = 64_KiB;
  Duration taken_time = std::chrono::seconds(5);
  // How long responses are still worked on after the client ended its side.
  Duration half_closed = std::chrono::seconds(5);
  // How long a closed connection waits for the client to have read the last response.
  Duration linger = std::chrono::seconds(1);
};

// The counters of all connections of one listener.
struct ConnectionMetrics {
  ConnectionMetrics(MetricsRegistry& registry, const std::string& listener);

  Gauge& open;
  Counter& failed;
  Counter& requests;
  Counter& received_bytes;
  Counter& sent_bytes;
};

// What connections share; outlives them.
struct ConnectionServices {
  Clock& clock;
  ByteBudget& budget;
  RequestHandler& handler;
  const ConnectionLimits& limits;
  ConnectionMetrics& metrics;
};

class FramedConnection {
 public:
  // `context` needs id, listener and executor; the rest is filled in.
  FramedConnection(std::unique_ptr<Stream> stream, const ConnectionServices& services,
                   ConnectionContext context);

  // Serves until the connection is closed. Success: the peer ended, or drain().
  Task<Status> run();
  // Reads no more, answers what was read, closes.
  void drain();
  // Closes at once.
  void abort(Error reason);

  [[nodiscard]] const ConnectionContext& context() const { return context_; }

 private:
  Task<void> read_loop();
  Task<void> wait_for_room();
  [[nodiscard]] bool has_room() const;
  Task<void> write_loop();
  Task<std::optional<Error>> collect();
  Task<Status> flush();
  void refuse_rest(Error reason);
  void on_deadline();
  void on_untaken();
  [[nodiscard]] bool is_busy() const;

  std::unique_ptr<Stream> stream_;
  Clock& clock_;
  RequestHandler& handler_;
  const ConnectionLimits& limits_;
  ConnectionMetrics& metrics_;
  std::stop_source closed_;
  ConnectionContext context_;
  FrameReader reader_;
  TaskGroup tasks_;  // the writer

  LazyDeadline deadline_;
  MonoTime active_at_;  // when bytes last came or went
  bool reading_ = true;
  bool half_closed_ = false;
  bool starting_ = false;  // the handler has a request in stage 1
  bool aborted_ = false;
  std::optional<Error> failure_;

  struct Waiting {
    Pending pending;
    ByteCount ready = 0;  // bytes of a response that was there at once
  };
  std::deque<Waiting> pending_;  // in the order of the requests
  ByteCount ready_ = 0;          // of all of them
  std::size_t unanswered_ = 0;   // those and the ones being written
  Notifier work_;                // for the writer: pending_ or reading_ changed
  Notifier room_;                // for the reader: unanswered_ or unsent_ fell

  std::vector<Chain> batch_;  // the responses being written
  PieceCursor cursor_;        // what is left of them
  std::size_t unsent_ = 0;    // bytes of it
  std::size_t taken_ = 0;     // bytes written since untaken_ was set
  LazyDeadline untaken_;
};

}  // namespace weir::net
