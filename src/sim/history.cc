#include "sim/history.h"

#include "sim/checkers.h"

#include <fmt/format.h>

namespace weir::sim {

const char* topic_name(std::int32_t topic) { return topic == kOrders ? "orders" : "events"; }

std::int32_t topic_number(std::string_view name) {
  return name == topic_name(kOrders) ? kOrders : kEvents;
}

std::string to_string(const Where& where) {
  return fmt::format("{}/{}", topic_name(where.topic), where.partition);
}

void Checker::violate(std::string subject, std::string what) {
  constexpr std::size_t kKept = 5;
  if (violations_.size() < kKept)
    violations_.push_back({name(), std::move(subject), std::move(what)});
}

History::History(World& world, Duration offsets_retention)
    : world_(world), offsets_retention_(offsets_retention), checkers_(make_checkers()) {}

void History::end_trace(const Checker& checker) {
  world_.end_trace(checker.violations().back().subject);
}

std::vector<Violation> History::violations() const {
  std::vector<Violation> all;
  for (const auto& checker : checkers_) {
    all.insert(all.end(), checker->violations().begin(), checker->violations().end());
  }
  return all;
}

}  // namespace weir::sim
