// Settings of the C library's allocator for a process that receives and drops buffers of 100 KB to
// some MiB all the time.
#pragma once
#include "base/units.h"

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

// When to give it back: as soon as more than the budget is resident. Where that is in use and
// stays, the next time is when a sixteenth of the budget has come on top of it. One thread.
class GiveBackRule {
 public:
  explicit GiveBackRule(ByteCount budget) : budget_(budget) {}

  // Told what is resident, often: at 1 GB/s, 100 ms are a tenth of the default budget.
  [[nodiscard]] bool due(ByteCount resident);
  void gave_back(ByteCount resident) { least_ = resident; }

 private:
  ByteCount budget_;
  ByteCount least_ = 0;  // since the last time
};

}  // namespace weir
