// The listeners of a broker: where it listens and what it tells clients to connect to. Pure
// functions over the texts of listeners, advertised.listeners and listener.security.protocol.map.
// Errors: kInvalid, with the part that is wrong.
#pragma once
#include "base/error.h"
#include "config/value.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// host:port; an empty host is every interface, port 0 any free port. IPv6 addresses are written in
// brackets and kept without.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const HostPort&) const = default;
};

struct Listener {
  std::string name;  // in upper case
  HostPort bind;
  // What clients are told. Port 0: the port that bind got.
  HostPort advertised;
};

struct ListenerTexts {
  List listeners;
  List advertised;        // empty: derived from listeners
  List protocols;         // NAME:PROTOCOL
  List controller_names;  // listeners to be left out
  std::string host_name;  // in place of an empty host
};

[[nodiscard]] Result<HostPort> parse_host_port(std::string_view text);

// In the order they are given; at least one.
[[nodiscard]] Result<std::vector<Listener>> parse_listeners(const ListenerTexts& texts);

// The listener of that name, in whatever case; null: there is none.
[[nodiscard]] const Listener* find_listener(const std::vector<Listener>& listeners,
                                            std::string_view name);

}  // namespace weir::config
