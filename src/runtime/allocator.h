// Settings of the C library's allocator for a process that receives and drops buffers of 100 KB to
// some MiB all the time.
#pragma once
#include "base/units.h"
#include "runtime/clock.h"

#include <optional>

namespace weir {

// Buffers up to 4 MiB, or a sixteenth of `retained` where that is less, come from memory the
// process keeps, not from fresh pages each time; up to `retained` free bytes per arena are kept.
// Called once, by main, before threads start. With glibc's own thresholds, which follow the sizes
// it sees, the same traffic takes several times the page faults; a pool of our own was no faster
// than this. Larger buffers, whole objects above all, have a mapping of their own: small blocks
// would settle in the holes that they leave.
void tune_allocator(ByteCount retained = 64_MiB);

// The memory of this process that is in RAM.
[[nodiscard]] ByteCount resident_bytes();
// Gives free memory between buffers in use back to the system as well: up to `retained` of each
// arena, and holes, add up to many times what is in use. Takes milliseconds; any thread.
void give_back_free_memory();

// When to give it back: as soon as more than the budget is resident. Where it was given back less
// than a second ago, only when a sixteenth of the budget has come on top since: each time costs
// milliseconds, and what is in use stays. One thread.
class GiveBackRule {
 public:
  explicit GiveBackRule(ByteCount budget) : budget_(budget) {}

  // Told what is resident, often: at 1 GB/s, 100 ms are a tenth of the default budget.
  [[nodiscard]] bool due(ByteCount resident, MonoTime now) const;
  void gave_back(ByteCount resident, MonoTime now) {
    left_ = resident;
    last_ = now;
  }

 private:
  ByteCount budget_;
  ByteCount left_ = 0;  // by the last time
  std::optional<MonoTime> last_;
};

}  // namespace weir
