// Tells listeners what applied entries changed. On the coordinator's thread.
#pragma once
#include "metadata/coordinator.h"
#include "metadata/state/apply.h"

#include <span>

namespace weir::metadata {

void tell_listeners(std::span<CommitListener* const> listeners, const Changes& changes);

}  // namespace weir::metadata
