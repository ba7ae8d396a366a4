// An HTTP/1.1 client of one origin: keeps connections and uses them again. Bodies go out as the
// slices they are, and bodies that say their length are received where they stay.
//
// Thread-safe. A call runs on its caller's executor, which must be serial (a core's loop, a strand)
// and whose loop must outlive the client: connections belong to the loop, and each loop has its
// own, at most connections_max; further calls wait in order. Errors: kTimeout (the outcome is
// unknown), kUnavailable (no connection, or it broke before the whole answer had come: the outcome
// is unknown too), kExhausted (the answer is larger than the call allows). Every complete answer is
// a value, whatever its status.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "base/units.h"
#include "net/connector.h"
#include "runtime/clock.h"
#include "runtime/task.h"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::net {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpCall {
  std::string method = "GET";
  std::string target = "/";  // path and query, encoded
  HttpHeaders headers;       // Host and Content-Length are added
  Chain body;
  ByteCount answer_max = 1_MiB;
  // May be sent a second time, on a fresh connection, when a kept one turns out to be closed.
  bool repeatable = true;
  // Of the whole call; zero: as the client's limits say.
  Duration time_max{};
};

struct HttpAnswer {
  int status = 0;
  HttpHeaders headers;  // names in lower case
  Slice body;

  // Empty when there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

struct HttpClientLimits {
  std::size_t connections_max = 64;  // per loop
  // A kept connection is not used again after this: servers close idle ones soon.
  Duration idle_max = std::chrono::seconds(15);
  Duration connect_max = std::chrono::seconds(5);
  // Without one byte going out or coming in.
  Duration stall_max = std::chrono::seconds(10);
  // Of a whole call: this, and the time that its bytes take at the slowest rate that is borne.
  Duration call_max = std::chrono::seconds(30);
  ByteCount slowest_bytes_per_second = 256_KiB;
};

class HttpClient {
 public:
  HttpClient(Connector& connector, Clock& clock, Origin origin,
             const HttpClientLimits& limits = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  Task<Result<HttpAnswer>> call(HttpCall call);
  [[nodiscard]] const Origin& origin() const { return origin_; }

 private:
  class Lane;
  class Lease;

  std::shared_ptr<Lane> lane_of(const Executor& executor);
  [[nodiscard]] MonoTime end_of(const HttpCall& call) const;
  Task<Status> wait_for_right(const std::shared_ptr<Lane>& lane, MonoTime end);
  Task<Result<std::unique_ptr<Lease>>> acquire(std::shared_ptr<Lane> lane, bool fresh,
                                               MonoTime end);

  Connector& connector_;
  Clock& clock_;
  const Origin origin_;
  const HttpClientLimits limits_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Lane>> lanes_;  // under mutex_
};

}  // namespace weir::net
