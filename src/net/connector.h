// Opens connections to servers that Weir is a client of: TCP, and TLS on top of it where the origin
// says so, with the server's certificate and name verified.
//
// A connector is thread-safe; a stream belongs to the executor of the task that asked for it.
// Errors: kUnavailable (no such name, refused, a certificate that is not trusted; the message says
// which), kTimeout.
#pragma once
#include "base/error.h"
#include "net/stream.h"
#include "runtime/clock.h"
#include "runtime/task.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace weir::net {

// Where an HTTP server is.
struct Origin {
  bool tls = false;
  std::string host;  // a name or a numeric address, without brackets
  std::uint16_t port = 0;

  bool operator==(const Origin&) const = default;
};

// "https://host:8443"; the port is left out where it is the scheme's own.
[[nodiscard]] std::string to_string(const Origin& origin);
// The value of a Host header: "host", "host:8443", "[::1]:8080".
[[nodiscard]] std::string authority(const Origin& origin);
// What remains of an http:// or https:// URL behind the origin is its path, at least "/". Nothing:
// it is no such URL, or names a user.
struct HttpUrl {
  Origin origin;
  std::string target;
};
[[nodiscard]] std::optional<HttpUrl> parse_http_url(std::string_view url);

class Connector {
 public:
  virtual ~Connector() = default;
  virtual Task<Result<std::unique_ptr<Stream>>> connect(Origin to, MonoTime deadline) = 0;
};

// Through the system's name server. `ca_file`: PEM certificates that are trusted instead of the
// system's. kInvalid: they cannot be read.
[[nodiscard]] Result<std::unique_ptr<Connector>> make_system_connector(Clock& clock,
                                                                       const std::string& ca_file);

}  // namespace weir::net
