// Which of the live brokers does a thing that one of them should do: coordinate a group, or a piece
// of the work in the background. The rendezvous owner, so all brokers that see the same members
// name the same one. Where two may not do it at the same time, a claim in the log settles it. Pure.
#pragma once
#include "metadata/state/image.h"

#include <optional>
#include <string_view>

namespace weir::metadata {

// Nothing: no broker lives.
[[nodiscard]] std::optional<BrokerId> live_owner(const ClusterImage& image, std::string_view name);

}  // namespace weir::metadata
