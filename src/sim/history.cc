#include "sim/history.h"

#include "sim/checkers.h"

namespace weir::sim {

void Checker::violate(std::string what) {
  constexpr std::size_t kKept = 5;
  if (violations_.size() < kKept) violations_.push_back(std::move(what));
}

History::History() : checkers_(make_checkers()) {}

void History::tell(const std::function<void(Checker&)>& tell) {
  for (auto& checker : checkers_) tell(*checker);
}

void History::violate(const std::string& checker, const std::string& what) {
  others_.push_back({checker, what});
}

std::vector<Violation> History::violations() const {
  std::vector<Violation> all = others_;
  for (const auto& checker : checkers_) {
    for (const std::string& what : checker->violations()) all.push_back({checker->name(), what});
  }
  return all;
}

}  // namespace weir::sim
