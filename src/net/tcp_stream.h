// TCP as a Stream: no delay, keep-alive. For the module's own .cc files and for programs that
// connect; the listener makes the streams of accepted connections.
#pragma once
#include "net/stream.h"

#include <boost/asio/ip/tcp.hpp>

#include <memory>

namespace weir::net {

// Takes over a connected socket, which must belong to the executor of the caller. An error: the
// peer is gone already.
[[nodiscard]] Result<std::unique_ptr<Stream>> make_tcp_stream(boost::asio::ip::tcp::socket socket);

// Connects to a numeric address; the stream belongs to the caller's executor.
Task<Result<std::unique_ptr<Stream>>> connect_tcp(std::string address, std::uint16_t port);

// "10.0.0.7:53412", "[::1]:53412"; IPv4 addresses within IPv6 in their IPv4 form.
[[nodiscard]] std::string to_string(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace weir::net
