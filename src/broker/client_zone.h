// The zone of a client, from what it says of itself or else from how it came in. Pure functions.
#pragma once
#include "config/zone_rules.h"

#include <string_view>

namespace weir::broker {

struct ClientHints {
  std::string_view rack;  // of a Fetch request; empty: not named
  std::string_view client_id;
  std::string_view listener;
  std::string_view address;
};

// The first that names one: rack, client.id, listener, address. Empty: unknown. The view is of the
// hints or of the rules.
[[nodiscard]] std::string_view zone_of_client(const config::ZoneRules& rules,
                                              const ClientHints& hints);

// "orders,zone=a", "orders;diskless_az=a" or "orders ws_az=a": the zone is "a". The first such part
// whose value could be a zone counts; any other text is a name that nobody has to change.
[[nodiscard]] std::string_view zone_in_client_id(std::string_view client_id);

}  // namespace weir::broker
