#include "config/latency.h"

#include <fmt/format.h>

#include <charconv>
#include <ranges>

namespace weir::config {
namespace {

std::unexpected<Error> wrong(std::string_view part) {
  return fail(ErrorCode::kInvalid,
              fmt::format("'{}' is none of put=P50/P99, get=P50/P99, append=P50/P99 "
                          "(milliseconds, P50 at most P99) and seed=N",
                          part));
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<LatencyQuantiles> quantiles(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto p50 = number(text.substr(0, slash));
  const auto p99 = number(text.substr(slash + 1));
  constexpr std::uint32_t kMost = 60'000;
  if (!p50 || !p99 || *p50 == 0 || *p50 > *p99 || *p99 > kMost) return std::nullopt;
  return LatencyQuantiles{.p50 = std::chrono::milliseconds(*p50),
                          .p99 = std::chrono::milliseconds(*p99)};
}

}  // namespace

Result<LatencyConfig> parse_latency(std::string_view text) {
  LatencyConfig out;
  if (text.empty()) return out;
  for (const auto range : std::views::split(text, ',')) {
    const std::string_view part(range.begin(), range.end());
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) return wrong(part);
    const std::string_view name = part.substr(0, equals);
    const std::string_view value = part.substr(equals + 1);
    if (name == "seed") {
      const auto seed = number(value);
      if (!seed) return wrong(part);
      out.seed = *seed;
      continue;
    }
    LatencyQuantiles* target = name == "put"      ? &out.put
                               : name == "get"    ? &out.get
                               : name == "append" ? &out.append
                                                  : nullptr;
    const auto parsed = quantiles(value);
    if (target == nullptr || !parsed) return wrong(part);
    *target = *parsed;
  }
  return out;
}

}  // namespace weir::config
