// What the configuration says about the zones of clients that do not name theirs: by the listener
// they come in by (zone.listeners) and by their address (zone.cidrs). Parsing is strict: kInvalid,
// with the part that is wrong and what would be right. Plain values and pure functions.
#pragma once
#include "base/error.h"
#include "config/listeners.h"
#include "config/value.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

struct ZoneNetwork {
  bool is_v6 = false;
  std::array<std::uint8_t, 16> address{};  // IPv4 in the first four bytes
  int bits = 0;                            // of the address that count
  std::string zone;
};

struct ZoneRules {
  std::map<std::string, std::string, std::less<>> by_listener;  // the zone; names in upper case
  std::vector<ZoneNetwork> networks;                            // the narrowest first
};

// `listeners`: LISTENER=ZONE, each a listener of the broker. `cidrs`: ADDRESS/BITS=ZONE.
[[nodiscard]] Result<ZoneRules> parse_zone_rules(const List& listeners, const List& cidrs,
                                                 const std::vector<Listener>& existing);

// Letters, digits, '.', '_' and '-'; at most 255.
[[nodiscard]] bool is_zone_name(std::string_view text);

// The zone of the narrowest network that has the address; empty when none has it or it is no
// address. IPv4 that came in over IPv6 (::ffff:10.0.0.1) counts as IPv4.
[[nodiscard]] std::string_view zone_of_address(const ZoneRules& rules, std::string_view address);

}  // namespace weir::config
