#include "net/tls_stream.h"

#include "net/tcp_stream.h"
#include "runtime/lazy_deadline.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>
#include <openssl/ssl.h>

#include <array>

namespace weir::net {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
// Small pieces go out as one TLS record; a piece above that is a record, or several, of its own.
constexpr std::size_t kGatherMax = 16;

class TlsStream final : public Stream {
 public:
  TlsStream(tcp::socket socket, ssl::context& context, std::string peer, std::uint16_t local_port)
      : tls_(std::move(socket), context), peer_(std::move(peer)), local_port_(local_port) {}

  ssl::stream<tcp::socket>& tls() { return tls_; }

  Task<Result<std::size_t>> read_some(MutableBytes into, MutableBytes spill) override {
    std::array buffers{asio::buffer(into.data(), into.size()),
                       asio::buffer(spill.data(), spill.size())};
    auto [error, count] = co_await tls_.async_read_some(
        buffers, asio::bind_cancellation_slot(read_cancel_.slot(), kAwait));
    // An end without TLS's own farewell is how many servers close idle connections. Who needs to
    // know that nothing is missing compares lengths.
    if (error == asio::error::eof || error == ssl::error::stream_truncated) co_return 0;
    if (error) co_return failed(error);
    co_return count;
  }

  Task<Result<std::size_t>> write_some(std::span<const Bytes> pieces) override {
    std::array<asio::const_buffer, kGatherMax> buffers;
    std::size_t used = std::min(pieces.size(), kGatherMax);
    for (std::size_t i = 0; i < used; ++i) buffers[i] = {pieces[i].data(), pieces[i].size()};
    auto [error, count] = co_await tls_.async_write_some(std::span(buffers.data(), used), kAwait);
    if (error) co_return failed(error);
    co_return count;
  }

  void cancel_read() override { read_cancel_.emit(asio::cancellation_type::total); }

  void shutdown_send() override {
    boost::system::error_code ignored;
    tls_.lowest_layer().shutdown(tcp::socket::shutdown_send, ignored);
  }

  void close() override {
    boost::system::error_code ignored;
    tls_.lowest_layer().close(ignored);
  }

  [[nodiscard]] const std::string& peer() const override { return peer_; }
  [[nodiscard]] std::uint16_t local_port() const override { return local_port_; }

 private:
  [[nodiscard]] std::unexpected<Error> failed(const boost::system::error_code& error) const {
    bool cancelled =
        error == asio::error::operation_aborted || error == asio::error::bad_descriptor;
    return fail(cancelled ? ErrorCode::kCancelled : ErrorCode::kUnavailable,
                fmt::format("TLS connection with {}: {}", peer_, error.message()));
  }

  ssl::stream<tcp::socket> tls_;
  asio::cancellation_signal read_cancel_;
  std::string peer_;
  std::uint16_t local_port_;
};

std::unexpected<Error> not_greeted(const Origin& to, const std::string& why) {
  return fail(ErrorCode::kUnavailable, fmt::format("TLS with {}: {}", to_string(to), why));
}

}  // namespace

Result<std::shared_ptr<TlsClientContext>> TlsClientContext::make(const std::string& ca_file) {
  auto made = std::make_shared<TlsClientContext>();
  ssl::context& context = made->context_;
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  boost::system::error_code error;
  context.set_verify_mode(ssl::verify_peer, error);
  if (error) return fail(ErrorCode::kInternal, "TLS: " + error.message());
  if (ca_file.empty()) {
    context.set_default_verify_paths(error);
  } else {
    context.load_verify_file(ca_file, error);
  }
  if (error) {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("certificates to trust: {} is not read: {}; it must be a PEM file",
                    ca_file.empty() ? "the system's list" : "file " + ca_file, error.message()));
  }
  return made;
}

Task<Result<std::unique_ptr<Stream>>> TlsClientContext::greet(tcp::socket socket, Origin to,
                                                              Clock& clock, MonoTime deadline) {
  boost::system::error_code error;
  tcp::endpoint remote = socket.remote_endpoint(error);
  tcp::endpoint local;
  if (!error) local = socket.local_endpoint(error);
  if (!error) socket.set_option(tcp::no_delay(true), error);
  if (!error) socket.set_option(asio::socket_base::keep_alive(true), error);
  if (error) co_return not_greeted(to, error.message());
  auto stream =
      std::make_unique<TlsStream>(std::move(socket), context_, to_string(remote), local.port());
  bool is_address = false;
  asio::ip::make_address(to.host, error);
  is_address = !error;
  // Servers choose their certificate by name; addresses are not sent (RFC 6066).
  if (!is_address) SSL_set_tlsext_host_name(stream->tls().native_handle(), to.host.c_str());
  stream->tls().set_verify_callback(ssl::host_name_verification(to.host), error);
  if (error) co_return not_greeted(to, error.message());
  bool late = false;
  LazyDeadline limit(clock, co_await asio::this_coro::executor, [&] {
    late = true;
    stream->close();
  });
  limit.set(deadline);
  auto [refused] = co_await stream->tls().async_handshake(ssl::stream_base::client, kAwait);
  if (late) {
    co_return fail(ErrorCode::kTimeout, fmt::format("{}: no TLS handshake in time", to_string(to)));
  }
  if (refused) co_return not_greeted(to, refused.message());
  co_return std::move(stream);
}

}  // namespace weir::net
