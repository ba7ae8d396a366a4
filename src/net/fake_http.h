// For tests: an HTTP server in memory that answers as the test says, and misbehaves as the test
// says. It is the connector of the clients under test; it, the clients and the test share one
// thread.
#pragma once
#include "net/connector.h"
#include "net/http_client.h"
#include "runtime/clock.h"

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace weir::net {

// A request as the server got it.
struct FakeRequest {
  std::string method;
  std::string target;
  HttpHeaders headers;  // names in lower case
  std::string body;
  std::size_t connection = 0;  // counts from 1
  Origin origin;               // where the client believes to be

  [[nodiscard]] std::string_view header(std::string_view name) const;
};

struct FakeReply {
  int status = 200;
  HttpHeaders headers;  // Content-Length is added
  std::string body;
  Duration delay{};  // before the answer
  // Only so many bytes of the answer are sent; then the connection ends, or stays silent.
  std::size_t cut_at = std::numeric_limits<std::size_t>::max();
  bool hang_after_cut = false;
  bool chunked = false;
  bool close = false;  // ends the connection after the answer, without saying so before
  std::string raw;     // instead of all that
};

class FakeHttp final : public Connector {
 public:
  using Handler = std::function<FakeReply(const FakeRequest&)>;

  FakeHttp(Clock& clock, Handler handler);

  Task<Result<std::unique_ptr<Stream>>> connect(Origin to, MonoTime deadline) override;

  // The next connections are refused, or never come about.
  enum class Reach : std::uint8_t { kOpen, kRefused, kSilent };
  void set_reach(Reach reach) { reach_ = reach; }
  void set_handler(Handler handler) { state_->handler = std::move(handler); }
  // Bytes that the connections hold while nobody reads.
  void set_capacity(std::size_t bytes) { capacity_ = bytes; }

  [[nodiscard]] const std::vector<FakeRequest>& seen() const { return state_->seen; }
  [[nodiscard]] std::size_t connections() const { return state_->connections; }
  void forget() { state_->seen.clear(); }

 private:
  // Shared with the connections, which may outlive the server.
  struct State {
    Clock& clock;
    Handler handler;
    std::vector<FakeRequest> seen;
    std::size_t connections = 0;
  };

  static Task<void> serve(std::shared_ptr<State> state, std::unique_ptr<Stream> stream,
                          std::size_t number, Origin origin);

  std::shared_ptr<State> state_;
  Reach reach_ = Reach::kOpen;
  std::size_t capacity_ = 1 << 20;
};

}  // namespace weir::net
