// A running broker: all parts, put together. Owned by `weir broker`; started and stopped from the
// main thread's loop.
//
// start() returns when the listeners are open. The broker then becomes ready by itself: it replays
// the metadata log, registers, takes over its groups, and only then serves requests; while the log
// or the store is down it says so and tries again.
#pragma once
#include "base/error.h"
#include "main/broker_command.h"
#include "runtime/task.h"

#include <memory>

namespace weir {

class BrokerProcess {
 public:
  // Opens the object store and the metadata log. Blocks. Errors: kInvalid, kUnavailable (a path
  // that cannot be used).
  [[nodiscard]] static Result<std::unique_ptr<BrokerProcess>> open(LoadedConfig config);
  ~BrokerProcess();

  // Binds the listeners and begins to become ready. Blocks. After an error only stop() may follow.
  Status start();
  // Until the broker can serve no more (another process took its id, the log's history diverged):
  // the reason. kCancelled after stop().
  Task<Error> failed();
  // Stops accepting, answers what was asked, commits what is staged, leaves the cluster.
  Task<void> stop();

 private:
  struct Parts;
  explicit BrokerProcess(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace weir
