// The checkers of a history, one for each promise of docs/architecture.md.
#pragma once
#include "sim/history.h"

#include <memory>
#include <vector>

namespace weir::sim {

// Every checker, fresh.
[[nodiscard]] std::vector<std::unique_ptr<Checker>> make_checkers();

}  // namespace weir::sim
