#include "config/zone_rules.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace weir::config {
namespace {

constexpr std::size_t kMaxZoneName = 255;
constexpr std::string_view kMappedPrefix = "::ffff:";

std::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalid, std::move(message));
}

struct Address {
  bool is_v6 = false;
  std::array<std::uint8_t, 16> bytes{};
  [[nodiscard]] int bits() const { return is_v6 ? 128 : 32; }
};

std::optional<Address> parse_address(std::string_view text) {
  if (text.starts_with(kMappedPrefix) && text.find('.') != std::string_view::npos)
    text.remove_prefix(kMappedPrefix.size());
  Address out{.is_v6 = text.find(':') != std::string_view::npos};
  if (inet_pton(out.is_v6 ? AF_INET6 : AF_INET, std::string(text).c_str(), out.bytes.data()) != 1)
    return std::nullopt;
  return out;
}

// The first `bits` of the bytes, the rest 0.
std::array<std::uint8_t, 16> masked(std::array<std::uint8_t, 16> bytes, int bits) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    int kept = std::clamp(bits - static_cast<int>(i) * 8, 0, 8);
    bytes[i] = static_cast<std::uint8_t>(bytes[i] & (0xFF00U >> kept));
  }
  return bytes;
}

std::string to_text(const ZoneNetwork& network) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(network.is_v6 ? AF_INET6 : AF_INET, network.address.data(), text.data(), text.size());
  return fmt::format("{}/{}", text.data(), network.bits);
}

// "NAME=ZONE", split. `form` says what was expected.
Result<std::pair<std::string_view, std::string>> split_zone(std::string_view key,
                                                            std::string_view text,
                                                            std::string_view form) {
  const auto equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0)
    return invalid(fmt::format("{}: {} must be {}", key, text, form));
  std::string zone(trim(text.substr(equals + 1)));
  if (!is_zone_name(zone)) {
    return invalid(fmt::format(
        "{}: {}: the zone must be made of letters, digits, '.', '_' and '-', at most {}", key, text,
        kMaxZoneName));
  }
  return std::pair(trim(text.substr(0, equals)), std::move(zone));
}

Result<ZoneNetwork> parse_network(std::string_view text) {
  constexpr std::string_view kForm = "ADDRESS/BITS=ZONE, for example 10.1.0.0/16=a";
  WEIR_TRY(auto parts, split_zone("zone.cidrs", text, kForm));
  const auto& [cidr, zone] = parts;
  const auto slash = cidr.find('/');
  if (slash == std::string_view::npos)
    return invalid(fmt::format("zone.cidrs: {} must be {}", text, kForm));
  auto address = parse_address(cidr.substr(0, slash));
  if (!address) {
    return invalid(
        fmt::format("zone.cidrs: {}: {} is no IPv4 or IPv6 address", text, cidr.substr(0, slash)));
  }
  std::string_view count = cidr.substr(slash + 1);
  int bits = 0;
  auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), bits);
  if (error != std::errc{} || end != count.data() + count.size() || bits < 0 ||
      bits > address->bits()) {
    return invalid(fmt::format("zone.cidrs: {}: the bits must be from 0 to {}, not {}", text,
                               address->bits(), count));
  }
  ZoneNetwork network{
      .is_v6 = address->is_v6, .address = masked(address->bytes, bits), .bits = bits, .zone = zone};
  if (network.address != address->bytes) {
    return invalid(
        fmt::format("zone.cidrs: {}: the address has bits behind the first {}; that "
                    "network is {}",
                    text, bits, to_text(network)));
  }
  return network;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

Status read_listeners(const List& texts, const std::vector<Listener>& existing, ZoneRules& out) {
  for (const std::string& text : texts) {
    WEIR_TRY(auto parts, split_zone("zone.listeners", text, "LISTENER=ZONE"));
    std::string name = upper(parts.first);
    if (std::ranges::find(existing, name, &Listener::name) == existing.end()) {
      std::string names;
      for (const Listener& listener : existing)
        names += (names.empty() ? "" : ", ") + listener.name;
      return invalid(fmt::format("zone.listeners: {}: there is no listener {}; there is {}", text,
                                 name, names));
    }
    if (!out.by_listener.emplace(name, parts.second).second)
      return invalid(fmt::format("zone.listeners: the listener {} is there twice", name));
  }
  return {};
}

}  // namespace

bool is_zone_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxZoneName && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

Result<ZoneRules> parse_zone_rules(const List& listeners, const List& cidrs,
                                   const std::vector<Listener>& existing) {
  ZoneRules rules;
  WEIR_CHECK(read_listeners(listeners, existing, rules));
  for (const std::string& text : cidrs) {
    WEIR_TRY(ZoneNetwork network, parse_network(text));
    for (const ZoneNetwork& other : rules.networks) {
      if (other.is_v6 == network.is_v6 && other.bits == network.bits &&
          other.address == network.address)
        return invalid(fmt::format("zone.cidrs: {} is there twice", to_text(network)));
    }
    rules.networks.push_back(std::move(network));
  }
  std::ranges::sort(rules.networks, std::greater{}, &ZoneNetwork::bits);
  return rules;
}

std::string_view zone_of_address(const ZoneRules& rules, std::string_view text) {
  if (rules.networks.empty()) return {};
  auto address = parse_address(text);
  if (!address) return {};
  for (const ZoneNetwork& network : rules.networks) {
    if (network.is_v6 == address->is_v6 && masked(address->bytes, network.bits) == network.address)
      return network.zone;
  }
  return {};
}

}  // namespace weir::config
