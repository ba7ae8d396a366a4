#include "net/tcp_stream.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/this_coro.hpp>

namespace weir::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

// Asio gives at most this many buffers to one system call.
constexpr std::size_t kGatherMax = 64;

class TcpStream final : public Stream {
 public:
  TcpStream(tcp::socket socket, std::string peer, std::uint16_t local_port)
      : socket_(std::move(socket)), peer_(std::move(peer)), local_port_(local_port) {}

  Task<Result<std::size_t>> read_some(MutableBytes into, MutableBytes spill) override {
    // The reactor does not report a second time what it has reported once.
    if (ended_ && socket_.is_open()) co_return 0;
    std::array buffers{asio::buffer(into.data(), into.size()),
                       asio::buffer(spill.data(), spill.size())};
    auto [error, count] = co_await socket_.async_read_some(
        buffers, asio::bind_cancellation_slot(read_cancel_.slot(), kAwait));
    if (error == asio::error::eof) {
      ended_ = true;
      co_return 0;
    }
    if (error) co_return failed(error);
    co_return count;
  }

  Task<Result<std::size_t>> write_some(std::span<const Bytes> pieces) override {
    std::array<asio::const_buffer, kGatherMax> buffers;
    std::size_t used = std::min(pieces.size(), kGatherMax);
    for (std::size_t i = 0; i < used; ++i) buffers[i] = {pieces[i].data(), pieces[i].size()};
    auto [error, count] =
        co_await socket_.async_write_some(std::span(buffers.data(), used), kAwait);
    if (error) co_return failed(error);
    co_return count;
  }

  void cancel_read() override { read_cancel_.emit(asio::cancellation_type::total); }

  void shutdown_send() override {
    boost::system::error_code ignored;  // the peer may be gone already
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }

  void close() override {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

  [[nodiscard]] const std::string& peer() const override { return peer_; }
  [[nodiscard]] std::uint16_t local_port() const override { return local_port_; }

 private:
  [[nodiscard]] std::unexpected<Error> failed(const boost::system::error_code& error) const {
    bool cancelled =
        error == asio::error::operation_aborted || error == asio::error::bad_descriptor;
    return fail(cancelled ? ErrorCode::kCancelled : ErrorCode::kUnavailable,
                fmt::format("connection with {}: {}", peer_, error.message()));
  }

  tcp::socket socket_;
  asio::cancellation_signal read_cancel_;
  std::string peer_;
  std::uint16_t local_port_;
  bool ended_ = false;
};

}  // namespace

std::string to_string(const tcp::endpoint& endpoint) {
  asio::ip::address address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  }
  return fmt::format(fmt::runtime(address.is_v6() ? "[{}]:{}" : "{}:{}"), address.to_string(),
                     endpoint.port());
}

Result<std::unique_ptr<Stream>> make_tcp_stream(tcp::socket socket) {
  boost::system::error_code error;
  tcp::endpoint remote = socket.remote_endpoint(error);
  tcp::endpoint local;
  if (!error) local = socket.local_endpoint(error);
  if (!error) socket.set_option(tcp::no_delay(true), error);
  if (!error) socket.set_option(asio::socket_base::keep_alive(true), error);
  if (error) return fail(ErrorCode::kUnavailable, "new connection: " + error.message());
  return std::make_unique<TcpStream>(std::move(socket), to_string(remote), local.port());
}

Task<Result<std::unique_ptr<Stream>>> connect_tcp(std::string address, std::uint16_t port) {
  boost::system::error_code bad;
  asio::ip::address to = asio::ip::make_address(address, bad);
  if (bad)
    co_return fail(ErrorCode::kInvalid, fmt::format("'{}' is not a numeric address", address));
  tcp::socket socket(co_await asio::this_coro::executor);
  auto [error] = co_await socket.async_connect({to, port}, kAwait);
  if (error) {
    co_return fail(ErrorCode::kUnavailable,
                   fmt::format("connect to {}: {}", to_string({to, port}), error.message()));
  }
  co_return make_tcp_stream(std::move(socket));
}

}  // namespace weir::net
