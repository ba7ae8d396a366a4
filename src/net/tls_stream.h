// TLS on a TCP connection to a server, as a Stream. For the module's own .cc files.
#pragma once
#include "net/connector.h"
#include "net/stream.h"
#include "runtime/clock.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>

namespace weir::net {

// Which certificates are trusted; TLS 1.2 and later. Thread-safe once made.
class TlsClientContext {
 public:
  // The system's certificates, or those of the PEM file. kInvalid: it cannot be read.
  [[nodiscard]] static Result<std::shared_ptr<TlsClientContext>> make(const std::string& ca_file);

  // The client's side of the handshake; the certificate must be for the host of `to`.
  Task<Result<std::unique_ptr<Stream>>> greet(boost::asio::ip::tcp::socket socket, Origin to,
                                              Clock& clock, MonoTime deadline);

 private:
  boost::asio::ssl::context context_{boost::asio::ssl::context::tls_client};
};

}  // namespace weir::net
