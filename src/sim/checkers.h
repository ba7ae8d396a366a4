// The checkers of a history, one for each promise of docs/architecture.md.
#pragma once
#include "sim/history.h"

#include <memory>
#include <vector>

namespace weir::sim {

using Checkers = std::vector<std::unique_ptr<Checker>>;

// Every checker, fresh.
[[nodiscard]] Checkers make_checkers();

// Of records and what is told of partitions; of groups; of objects, states and brokers.
void add_record_checkers(Checkers& all);
void add_group_checkers(Checkers& all);
void add_broker_checkers(Checkers& all);

}  // namespace weir::sim
