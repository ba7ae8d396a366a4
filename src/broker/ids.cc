#include "broker/ids.h"

namespace weir::broker {

Uuid IdSource::next_uuid() {
  std::lock_guard lock(mutex_);
  std::uint64_t high = rng_.next();
  return Uuid::from_random(high, rng_.next());
}

std::optional<ProducerId> IdSource::take() {
  std::lock_guard lock(mutex_);
  if (next_ == end_) return std::nullopt;
  return next_++;
}

Task<Result<ProducerId>> IdSource::next_producer_id() {
  if (auto id = take()) co_return *id;
  // Calls that come together may fetch a block each; the ids of all but the last are skipped, which
  // does no harm.
  WEIR_CO_TRY(metadata::CommandResult block,
              co_await coordinator_.submit(metadata::AllocateProducerIds{.count = kBlock}));
  std::lock_guard lock(mutex_);
  next_ = block.value;
  end_ = block.value + kBlock;
  co_return next_++;
}

}  // namespace weir::broker
