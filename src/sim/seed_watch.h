// What a run that crashes or hangs cannot say itself: which one it was.
#pragma once
#include "base/units.h"

#include <string>

namespace weir::sim {

// From now on, for the whole process: a crash writes `command` to stderr before it ends the process
// as it would have, and so does, with kHangs, one that has used `most` of a core's time since.
void watch_run(const std::string& command, Duration most);

constexpr int kHangs = 3;  // the exit code

}  // namespace weir::sim
