// Does independent pieces of work a few at a time.
#pragma once
#include "base/error.h"
#include "runtime/task.h"

#include <cstddef>
#include <functional>

namespace weir {

// Runs body(0) to body(count - 1), at most `limit` at once and never two on different threads at
// one moment; resumes on the caller's executor when all have ended. After the first error no
// further one is begun, and that error is the result.
Task<Status> for_each_parallel(std::size_t count, std::size_t limit,
                               std::function<Task<Status>(std::size_t)> body);

}  // namespace weir
