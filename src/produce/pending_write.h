// The staged batches of one Produce request on their way to an answer. Shared by the request's
// handler, which waits, and the write pipeline, which completes each batch once from its own
// thread.
#pragma once
#include "produce/batch_outcome.h"
#include "runtime/clock.h"
#include "runtime/oneshot.h"

#include <atomic>
#include <memory>
#include <vector>

namespace weir::produce {

class PendingWrite {
 public:
  // `memory` is held until the last reference to this is gone: the reservation of the bytes that
  // the batches lie in.
  explicit PendingWrite(std::size_t batches, std::shared_ptr<const void> memory = nullptr);

  // Any thread; each index once.
  void complete(std::size_t index, const BatchOutcome& outcome);

  // Waits, once, until all batches are complete or `deadline` passes. Batches that are not complete
  // then are told as REQUEST_TIMED_OUT: they may still be committed (an idempotent producer's retry
  // is recognised).
  Task<std::vector<BatchOutcome>> wait_until(Clock& clock, MonoTime deadline);

 private:
  struct Slot {
    BatchOutcome outcome;
    std::atomic<bool> is_complete = false;
  };

  std::vector<Slot> slots_;
  std::atomic<std::size_t> remaining_;
  OneShot<bool> done_;
  std::shared_ptr<const void> memory_;
};

}  // namespace weir::produce
