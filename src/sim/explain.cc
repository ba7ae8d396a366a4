#include "sim/explain.h"

#include <algorithm>
#include <set>

namespace weir::sim {
namespace {

// The first of the violations that the checker has.
const Violation* find(const SimulationResult& result, const std::string& checker) {
  for (const Violation& violation : result.violations) {
    if (violation.checker == checker) return &violation;
  }
  return nullptr;
}

bool is_mentioned(std::string_view line, const std::set<std::string>& words) {
  return std::ranges::any_of(
      words, [&](const std::string& word) { return line.find(word) != std::string_view::npos; });
}

// Of the events the last ones, and those around the records that the violation names.
std::vector<std::string> choose(const std::vector<std::string>& events,
                                const Violation& violation) {
  constexpr std::size_t kLast = 25;
  constexpr std::size_t kAround = 4;
  std::set<std::string> records;
  for (std::size_t begin = 0; begin < violation.what.size();) {
    const std::size_t end =
        std::min(violation.what.find_first_of(" :,", begin), violation.what.size());
    std::string word = violation.what.substr(begin, end - begin);
    if (std::ranges::count(word, '-') == 3) records.insert(std::move(word));
    begin = end + 1;
  }
  std::vector<bool> keep(events.size());
  std::size_t mentions = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool is_last = i + kLast >= events.size();
    const bool is_around = is_mentioned(events[i], records) && ++mentions <= kAround;
    if (!is_last && !is_around) continue;
    for (std::size_t j = i - std::min(i, is_around ? kAround : 0);
         j <= i + kAround && j < events.size(); ++j)
      keep[j] = true;
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (keep[i]) {
      out.push_back(events[i]);
    } else if (!out.empty() && out.back() != "...") {
      out.emplace_back("...");
    }
  }
  return out;
}

}  // namespace

Explanation explain(const SimulationOptions& options, const SimulationResult& failed) {
  const std::string checker = failed.violations.front().checker;
  Explanation out{.options = options, .violation = failed.violations.front(), .trace = {}};
  std::int64_t good = 0;
  // A run that is cut off begins as the longer one does, so what broke early breaks again.
  std::int64_t next = options.seconds / 2;
  if (failed.violated_at) {
    const auto at = static_cast<std::int64_t>(*failed.violated_at) + 1;
    if (at < options.seconds) next = at;
  }
  constexpr int kRuns = 6;
  for (int i = 0; i < kRuns && next > good && next < out.options.seconds; ++i) {
    SimulationOptions shorter = options;
    shorter.seconds = next;
    const SimulationResult result = simulate(shorter);
    const Violation* same = find(result, checker);
    if (same == nullptr) {
      good = next;
    } else {
      out.options = shorter;
      out.violation = *same;
    }
    next = (good + out.options.seconds) / 2;
  }
  SimulationOptions traced = out.options;
  traced.trace = out.violation.subject;
  out.trace = choose(simulate(traced).trace, out.violation);
  return out;
}

}  // namespace weir::sim
