// Two streams in memory, each the other's peer, for tests and the simulator. What one end writes
// waits in a buffer of limited size until the other reads it: a writer whose peer does not read
// waits. The ends may live on different executors.
#pragma once
#include "net/stream.h"

#include <memory>
#include <utility>

namespace weir::net {

struct PipeOptions {
  std::size_t capacity = 64 * 1024;  // bytes, each way; at least 1
  std::string peer = "pipe";         // what both ends say of their peer
  std::uint16_t local_port = 0;
};

[[nodiscard]] std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> make_pipe(
    PipeOptions options = {});

}  // namespace weir::net
