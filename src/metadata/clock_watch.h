// Says when this broker's clock and another's differ by so much that one of them is wrong: entries
// carry the time of their writer's clock. Owned by the coordinator, on its executor.
#pragma once
#include "metadata/state/record.h"
#include "runtime/clock.h"

#include <map>

namespace weir::metadata {

class ClockWatch {
 public:
  static constexpr TimestampMs kMostDifference = 60'000;

  explicit ClockWatch(Clock& clock) : clock_(clock) {}

  // An entry of another broker that was just appended. True: its time is further off. It is also
  // when this broker hears of it so much later.
  bool differs(const RecordHeader& header);
  // The state's time when it was loaded: it may be long ago, but not ahead.
  void loaded(TimestampMs time) const;

 private:
  Clock& clock_;
  std::map<BrokerId, MonoTime> warned_;  // of the last minute
};

}  // namespace weir::metadata
