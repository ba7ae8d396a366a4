#include "produce/pending_write.h"

#include <boost/asio/this_coro.hpp>

namespace weir::produce {

PendingWrite::PendingWrite(std::size_t batches, std::shared_ptr<const void> memory)
    : slots_(batches), remaining_(batches), memory_(std::move(memory)) {
  if (batches == 0) done_.set(true);
}

void PendingWrite::complete(std::size_t index, const BatchOutcome& outcome) {
  Slot& slot = slots_[index];
  slot.outcome = outcome;
  slot.is_complete.store(true, std::memory_order_release);
  if (remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.set(true);
}

Task<std::vector<BatchOutcome>> PendingWrite::wait_until(Clock& clock, MonoTime deadline) {
  auto timer = clock.call_at(deadline, co_await boost::asio::this_coro::executor,
                             [done = done_]() mutable { done.set(false); });
  co_await done_.wait();
  timer->cancel();
  std::vector<BatchOutcome> outcomes;
  outcomes.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    if (slot.is_complete.load(std::memory_order_acquire)) {
      outcomes.push_back(slot.outcome);
    } else {
      outcomes.push_back({.error = kafka::KafkaError::kRequestTimedOut});
    }
  }
  co_return outcomes;
}

}  // namespace weir::produce
