#include "config/listeners.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace weir::config {
namespace {

struct Endpoint {
  std::string name;
  HostPort address;
};

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

std::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalid, std::move(message));
}

bool is_every_interface(std::string_view host) {
  return host.empty() || host == "0.0.0.0" || host == "::";
}

Result<Endpoint> parse_endpoint(std::string_view key, std::string_view text) {
  const auto separator = text.find("://");
  if (separator == std::string_view::npos || separator == 0) {
    return invalid(fmt::format("{}: {} must be NAME://host:port", key, text));
  }
  auto address = parse_host_port(text.substr(separator + 3));
  if (!address) return std::unexpected(address.error().in(fmt::format("{}: {}", key, text)));
  return Endpoint{.name = upper(text.substr(0, separator)), .address = *std::move(address)};
}

// IPv4 and IPv6 may share a port: an address in brackets and one without.
bool is_ipv6(std::string_view host) { return host.find(':') != std::string_view::npos; }

Result<std::vector<Endpoint>> parse_endpoints(std::string_view key, const List& texts) {
  std::vector<Endpoint> endpoints;
  for (const std::string& text : texts) {
    WEIR_TRY(Endpoint endpoint, parse_endpoint(key, text));
    for (const Endpoint& other : endpoints) {
      if (other.name == endpoint.name) {
        return invalid(fmt::format("{}: the name {} is there twice", key, endpoint.name));
      }
    }
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

Status check_ports(const std::vector<Endpoint>& endpoints) {
  for (auto a = endpoints.begin(); a != endpoints.end(); ++a) {
    for (auto b = endpoints.begin(); b != a; ++b) {
      const bool same_port = a->address.port == b->address.port && a->address.port != 0;
      const bool may_share = is_ipv6(a->address.host) != is_ipv6(b->address.host) &&
                             !a->address.host.empty() && !b->address.host.empty();
      if (same_port && !may_share) {
        return invalid(fmt::format("listeners: {} and {} have the same port {}", b->name, a->name,
                                   a->address.port));
      }
    }
  }
  return {};
}

// NAME → PROTOCOL.
Result<std::map<std::string, std::string>> parse_protocols(const List& texts) {
  std::map<std::string, std::string> protocols;
  for (const std::string& text : texts) {
    const auto colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) {
      return invalid(fmt::format("listener.security.protocol.map: {} must be NAME:PROTOCOL", text));
    }
    protocols[upper(trim(std::string_view(text).substr(0, colon)))] =
        upper(trim(std::string_view(text).substr(colon + 1)));
  }
  return protocols;
}

Status check_protocol(const std::string& name,
                      const std::map<std::string, std::string>& protocols) {
  const auto found = protocols.find(name);
  if (found == protocols.end()) {
    return invalid(
        fmt::format("listeners: the listener {} has no protocol; add {}:PLAINTEXT to "
                    "listener.security.protocol.map",
                    name, name));
  }
  if (found->second != "PLAINTEXT") {
    return invalid(
        fmt::format("listeners: the listener {} has the protocol {}; only PLAINTEXT is served "
                    "(listener.security.protocol.map)",
                    name, found->second));
  }
  return {};
}

Status advertise(std::vector<Listener>& listeners, const ListenerTexts& texts) {
  WEIR_TRY(auto advertised, parse_endpoints("advertised.listeners", texts.advertised));
  for (const Endpoint& endpoint : advertised) {
    const auto& [name, address] = endpoint;
    if (std::ranges::find(texts.controller_names, name, upper) != texts.controller_names.end()) {
      continue;
    }
    const auto listener = std::ranges::find(listeners, name, &Listener::name);
    if (listener == listeners.end()) {
      return invalid(fmt::format("advertised.listeners: no listener is named {}", name));
    }
    if (is_every_interface(address.host)) {
      return invalid(fmt::format(
          "advertised.listeners: {}: clients cannot connect to {}; give an address or a name that "
          "they can reach",
          name, address.host.empty() ? "an empty host" : address.host));
    }
    listener->advertised = address;
  }
  for (Listener& listener : listeners) {
    if (!listener.advertised.host.empty()) continue;
    if (!advertised.empty()) {
      return invalid(
          fmt::format("advertised.listeners: the listener {} is missing", listener.name));
    }
    listener.advertised = listener.bind;
    if (is_every_interface(listener.bind.host)) listener.advertised.host = texts.host_name;
  }
  return {};
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return invalid(fmt::format("{}: must be host:port", text));
  }
  HostPort address;
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc{} || end != port.data() + port.size()) {
    return invalid(fmt::format("the port {} must be a number from 0 to 65535", port));
  }
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of("[]:") != std::string_view::npos) {
    return invalid(
        fmt::format("the host {} must be a name, an IPv4 address, or an IPv6 address in "
                    "brackets",
                    host));
  }
  if (host.find_first_of(" \t/@") != std::string_view::npos) {
    return invalid(fmt::format("the host {} is no name or address", host));
  }
  address.host = host;
  return address;
}

Result<std::vector<Listener>> parse_listeners(const ListenerTexts& texts) {
  WEIR_TRY(auto endpoints, parse_endpoints("listeners", texts.listeners));
  std::erase_if(endpoints, [&](const Endpoint& endpoint) {
    return std::ranges::find(texts.controller_names, endpoint.name, upper) !=
           texts.controller_names.end();
  });
  if (endpoints.empty()) {
    return invalid("listeners: at least one is needed, for example PLAINTEXT://:9092");
  }
  WEIR_CHECK(check_ports(endpoints));
  WEIR_TRY(const auto protocols, parse_protocols(texts.protocols));
  std::vector<Listener> listeners;
  for (Endpoint& endpoint : endpoints) {
    WEIR_CHECK(check_protocol(endpoint.name, protocols));
    listeners.push_back({.name = endpoint.name, .bind = endpoint.address, .advertised = {}});
  }
  WEIR_CHECK(advertise(listeners, texts));
  return listeners;
}

const Listener* find_listener(const std::vector<Listener>& listeners, std::string_view name) {
  auto found = std::ranges::find(listeners, upper(name), &Listener::name);
  return found == listeners.end() ? nullptr : &*found;
}

}  // namespace weir::config
