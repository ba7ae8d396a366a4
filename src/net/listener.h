// Accepts TCP connections on one address and hands each to the core with the fewest. One acceptor
// for all cores, rather than one per core with SO_REUSEPORT: with a handful of clients the kernel's
// hash would leave cores without any.
//
// Owned by a server, which serves the streams. Constructed, started and stopped from any thread;
// accepts on the first core.
#pragma once
#include "net/stream.h"
#include "runtime/byte_budget.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "runtime/task_group.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace weir::net {

// Serves accepted connections. serve() runs on the executor of core `core`; the stream belongs
// there. It returns when the connection has ended.
class StreamServer {
 public:
  virtual ~StreamServer() = default;
  virtual Task<void> serve(std::unique_ptr<Stream> stream, std::size_t core) = 0;
};

struct ListenAddress {
  std::string host;        // a name or an address; empty: every interface
  std::uint16_t port = 0;  // 0: the system chooses, see Listener::port()
};

class Listener {
 public:
  // `slots` counts connections: one per connection, of all listeners that share it
  // (max.connections). While none is free no connection is accepted; new ones wait in the system's
  // queue.
  Listener(std::vector<Executor> cores, Clock& clock, ByteBudget& slots, StreamServer& server);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Binds and begins to accept. Blocks for a name server when `host` is a name. Errors: kInvalid
  // (no such host), kUnavailable (the address is in use, or not of this machine).
  Status start(const ListenAddress& address);
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Accepts no more.
  void stop();
  // After stop(): until every connection has been served.
  Task<void> join() { return tasks_.join(); }
  [[nodiscard]] std::size_t connections() const;

 private:
  struct Acceptor;

  Task<void> accept_loop();
  Task<void> serve(std::unique_ptr<Stream> stream, std::size_t core, ByteBudget::Reservation slot);
  [[nodiscard]] std::size_t least_loaded() const;

  std::vector<Executor> cores_;
  std::vector<std::atomic<std::size_t>> loads_;
  Clock& clock_;
  ByteBudget& slots_;
  StreamServer& server_;
  std::shared_ptr<Acceptor> acceptor_;
  std::uint16_t port_ = 0;
  std::stop_source stop_;
  log::RateLimit log_limit_{std::chrono::seconds(10)};
  TaskGroup tasks_;
};

}  // namespace weir::net
