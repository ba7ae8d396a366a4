// Fresh identifiers: random UUIDs, and producer ids from blocks that the metadata log hands out.
// Thread-safe.
#pragma once
#include "base/ids.h"
#include "metadata/coordinator.h"
#include "runtime/rng.h"

#include <mutex>

namespace weir::broker {

class IdSource {
 public:
  IdSource(metadata::Coordinator& coordinator, Rng rng) : coordinator_(coordinator), rng_(rng) {}

  [[nodiscard]] Uuid next_uuid();
  // A producer id that nobody else ever has. Most calls answer at once; one in kBlock appends to
  // the log.
  Task<Result<ProducerId>> next_producer_id();

 private:
  static constexpr std::int32_t kBlock = 1000;
  [[nodiscard]] std::optional<ProducerId> take();

  metadata::Coordinator& coordinator_;
  std::mutex mutex_;
  Rng rng_;
  ProducerId next_ = 0;
  ProducerId end_ = 0;  // of the block
};

}  // namespace weir::broker
