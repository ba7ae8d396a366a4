// A state from the chunks of a snapshot, decoded in parallel on `blocking`. Errors: kInvalid, a
// newer Weir wrote it; kCorrupt.
#pragma once
#include "metadata/state/state.h"
#include "runtime/task.h"

#include <vector>

namespace weir::metadata {

[[nodiscard]] Task<Result<State>> decode_snapshot(std::vector<Slice> chunks, Executor blocking);

}  // namespace weir::metadata
