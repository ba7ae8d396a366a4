// Commands of requests that say how long their client waits for them.
#pragma once
#include "broker/broker.h"

namespace weir::broker {

// How long a client waits that does not say: as long as Kafka's admin clients do for one request.
constexpr std::chrono::milliseconds kDefaultWait{30'000};

// The time a request names; none, zero or less is the default.
[[nodiscard]] std::chrono::milliseconds wait_of(std::int32_t timeout_ms);

// Coordinator::submit for at most `wait`. kTimeout after that: the command is on its way, and its
// effect may come yet.
Task<Result<metadata::CommandResult>> submit_within(Broker& broker, metadata::Command command,
                                                    std::chrono::milliseconds wait);

}  // namespace weir::broker
