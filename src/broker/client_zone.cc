#include "broker/client_zone.h"

#include <algorithm>
#include <array>

namespace weir::broker {
namespace {

constexpr std::array<std::string_view, 3> kZoneNames = {"zone", "diskless_az", "ws_az"};
constexpr std::string_view kSeparators = ",; \t";

}  // namespace

std::string_view zone_in_client_id(std::string_view client_id) {
  while (!client_id.empty()) {
    std::size_t end = std::min(client_id.find_first_of(kSeparators), client_id.size());
    std::string_view part = client_id.substr(0, end);
    client_id.remove_prefix(std::min(end + 1, client_id.size()));
    std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view value = part.substr(equals + 1);
    bool is_zone = std::ranges::find(kZoneNames, part.substr(0, equals)) != kZoneNames.end();
    if (is_zone && config::is_zone_name(value)) return value;
  }
  return {};
}

std::string_view zone_of_client(const config::ZoneRules& rules, const ClientHints& hints) {
  if (!hints.rack.empty()) return hints.rack;
  if (std::string_view zone = zone_in_client_id(hints.client_id); !zone.empty()) return zone;
  if (auto found = rules.by_listener.find(hints.listener); found != rules.by_listener.end())
    return found->second;
  return config::zone_of_address(rules, hints.address);
}

}  // namespace weir::broker
