#include "runtime/allocator.h"

#include <malloc.h>

#include <algorithm>
#include <climits>

namespace weir {

void tune_allocator(ByteCount retained) {
  // The greatest threshold that glibc takes.
  constexpr ByteCount kMmapThreshold = 32_MiB;
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(kMmapThreshold));
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(std::min<ByteCount>(retained, INT_MAX)));
}

}  // namespace weir
