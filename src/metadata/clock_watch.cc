#include "metadata/clock_watch.h"

#include "runtime/log.h"

#include <cstdlib>

namespace weir::metadata {

bool ClockWatch::differs(const RecordHeader& header) {
  constexpr Duration kBetweenWarnings = std::chrono::minutes(1);
  const TimestampMs ahead = header.time - clock_.wall_ms();
  if (std::abs(ahead) <= kMostDifference) return false;
  const MonoTime now = clock_.now();
  std::erase_if(warned_, [&](const auto& one) { return now - one.second >= kBetweenWarnings; });
  if (warned_.try_emplace(header.broker, now).second) {
    log::warn("metadata.clock.differs", {{"broker", header.broker}, {"ahead_ms", ahead}});
  }
  return true;
}

void ClockWatch::loaded(TimestampMs time) const {
  const TimestampMs ahead = time - clock_.wall_ms();
  if (ahead <= kMostDifference) return;
  log::warn("metadata.clock.behind", {{"last_entry_ahead_ms", ahead}});
}

}  // namespace weir::metadata
