// A running broker: all parts, put together. Owned by `weir broker`; started and stopped from the
// main thread's loop.
//
// start() returns when the listeners are open. The broker then becomes ready by itself: it replays
// the metadata log, registers, takes over its groups, and only then serves requests; while the log
// or the store is down it says so and tries again. When it fails for good it closes its listeners
// and connections at once; run_broker.h tells what comes then.
#pragma once
#include "base/error.h"
#include "base/units.h"
#include "main/broker_command.h"
#include "runtime/metrics.h"
#include "runtime/task.h"

#include <memory>

namespace weir {

class BrokerProcess {
 public:
  // Opens the object store and the metadata log. Blocks. Errors: kInvalid, kUnavailable (a path
  // that cannot be used).
  // `metrics` outlives it.
  [[nodiscard]] static Result<std::unique_ptr<BrokerProcess>> open(LoadedConfig config,
                                                                   MetricsRegistry& metrics);
  ~BrokerProcess();

  // Binds the listeners and begins to become ready. Blocks. After an error only stop() may follow.
  Status start();
  // Until the broker can serve no more (another process took its id, the log's history diverged):
  // the reason. kCancelled after stop(). For one task, once.
  Task<Error> failed();
  // kInOrder: stops accepting, answers what was asked, commits what is staged, leaves the cluster.
  // kAtOnce: answers nothing more, and gives up what is not in the store.
  enum class Manner { kInOrder, kAtOnce };
  Task<void> stop(Manner manner);

  // Success, or why it does not serve now. These: any thread.
  [[nodiscard]] Status readiness() const;
  [[nodiscard]] bool was_ready() const;
  [[nodiscard]] ByteCount used_request_memory() const;
  // With the ports that the system chose. After start().
  [[nodiscard]] const LoadedConfig& config() const;

 private:
  struct Parts;
  explicit BrokerProcess(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace weir
