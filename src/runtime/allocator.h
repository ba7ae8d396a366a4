// Settings of the C library's allocator for a process that receives and drops buffers of 100 KB to
// 32 MiB all the time.
#pragma once
#include "base/units.h"

namespace weir {

// Buffers up to 32 MiB come from memory the process keeps, not from fresh pages each time; up to
// `retained` free bytes per arena are kept. Called once, by main, before threads start. With
// glibc's own thresholds, which follow the sizes it sees, the same traffic takes several times the
// page faults; a pool of our own was no faster than this.
void tune_allocator(ByteCount retained = 64_MiB);

}  // namespace weir
