#include "runtime/allocator.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>

namespace weir {

void tune_allocator(ByteCount retained) {
  const ByteCount mmap_threshold = std::min<ByteCount>(4_MiB, retained / 16);
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(mmap_threshold));
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(std::min<ByteCount>(retained, INT_MAX)));
}

ByteCount resident_bytes() {
  ByteCount all = 0;
  ByteCount resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<ByteCount>(::sysconf(_SC_PAGESIZE));
}

void give_back_free_memory() { ::malloc_trim(0); }

bool GiveBackRule::due(ByteCount resident, MonoTime now) const {
  if (resident <= budget_) return false;
  const bool is_early = last_ && now - *last_ < std::chrono::seconds(1);
  return !is_early || resident > left_ + budget_ / 16;
}

}  // namespace weir
