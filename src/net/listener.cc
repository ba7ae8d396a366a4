#include "net/listener.h"

#include "net/tcp_stream.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>

namespace weir::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

// How long no connection is accepted after the process or the system ran out of something
// (descriptors, memory).
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);

// The connection was gone before it was accepted.
bool is_of_one_connection(const error_code& error) {
  return error == asio::error::connection_aborted || error == asio::error::connection_reset;
}

std::string describe(const ListenAddress& address) {
  return fmt::format("{}:{}", address.host.empty() ? "*" : address.host, address.port);
}

Result<tcp::endpoint> resolve(const Executor& executor, const ListenAddress& address) {
  if (address.host.empty()) return tcp::endpoint(tcp::v6(), address.port);
  error_code error;
  tcp::resolver resolver(executor);
  auto found = resolver.resolve(address.host, std::to_string(address.port),
                                tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty()) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot listen on {}: the host is not known ({})",
                                                 describe(address), error.message()));
  }
  return found.begin()->endpoint();
}

error_code open_and_listen(tcp::acceptor& acceptor, const tcp::endpoint& endpoint, bool dual) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  // A restarted broker gets its port although old connections are not forgotten yet.
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error && dual) acceptor.set_option(asio::ip::v6_only(false), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  return error;
}

}  // namespace

struct Listener::Acceptor {
  explicit Acceptor(const Executor& executor) : acceptor(executor) {}
  tcp::acceptor acceptor;
};

Listener::Listener(std::vector<Executor> cores, Clock& clock, ByteBudget& slots,
                   StreamServer& server)
    : cores_(std::move(cores)),
      loads_(cores_.size()),
      clock_(clock),
      slots_(slots),
      server_(server),
      acceptor_(std::make_shared<Acceptor>(cores_.front())) {}

Listener::~Listener() = default;

Status Listener::start(const ListenAddress& address) {
  WEIR_TRY(tcp::endpoint endpoint, resolve(cores_.front(), address));
  const bool everywhere = address.host.empty();
  tcp::acceptor& acceptor = acceptor_->acceptor;
  error_code error = open_and_listen(acceptor, endpoint, everywhere);
  if (error && everywhere) {
    // A machine without IPv6.
    error_code ignored;
    acceptor.close(ignored);
    error = open_and_listen(acceptor, {tcp::v4(), address.port}, false);
  }
  if (error) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("cannot listen on {}: {}", describe(address), error.message()));
  }
  port_ = acceptor.local_endpoint().port();
  tasks_.spawn(cores_.front(), accept_loop());
  return Status();
}

void Listener::stop() {
  stop_.request_stop();
  tasks_.stop();
  asio::post(cores_.front(), [acceptor = acceptor_] {
    error_code ignored;
    acceptor->acceptor.close(ignored);
  });
}

Task<void> Listener::accept_loop() {
  while (true) {
    ByteBudget::Reservation slot = co_await slots_.reserve(1, stop_.get_token());
    if (!slot) co_return;
    const std::size_t core = least_loaded();
    auto [error, socket] = co_await acceptor_->acceptor.async_accept(cores_[core], kAwait);
    if (stop_.stop_requested()) co_return;
    if (error) {
      if (is_of_one_connection(error)) continue;
      log::warn(log_limit_, "listener.accept.failed",
                {{"port", port_}, {"error", error.message()}});
      if (!co_await tasks_.sleep(clock_, kAcceptPause)) co_return;
      continue;
    }
    Result<std::unique_ptr<Stream>> stream = make_tcp_stream(std::move(socket));
    if (!stream) continue;
    ++loads_[core];
    tasks_.spawn(cores_[core], serve(*std::move(stream), core, std::move(slot)));
  }
}

Task<void> Listener::serve(std::unique_ptr<Stream> stream, std::size_t core,
                           ByteBudget::Reservation slot) {
  co_await server_.serve(std::move(stream), core);
  --loads_[core];
  slot.reset();
}

std::size_t Listener::least_loaded() const {
  auto least = std::ranges::min_element(loads_, {}, [](const auto& load) { return load.load(); });
  return static_cast<std::size_t>(least - loads_.begin());
}

std::size_t Listener::connections() const {
  std::size_t sum = 0;
  for (const auto& load : loads_) sum += load;
  return sum;
}

}  // namespace weir::net
