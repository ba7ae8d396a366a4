// Where validated batches wait for the next object. Each core stages into a lane of its own, so
// that cores do not share a lock; the write pipeline drains all lanes into one object. A lane keeps
// the order of its batches, so the batches of one connection reach their partitions in the order
// they came.
//
// Memory is bounded by those who stage: each batch lies in a request whose bytes are reserved from
// the memory budget.
#pragma once
#include "base/bytes.h"
#include "base/ids.h"
#include "base/units.h"
#include "produce/pending_write.h"
#include "runtime/byte_budget.h"
#include "runtime/clock.h"
#include "storage/wal_object.h"

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace weir::produce {

struct StagedBatch {
  storage::WalBatch batch;
  std::shared_ptr<PendingWrite> write;
  std::uint32_t index = 0;  // of the batch in `write`
};

// What is staged goes on to the object cache and would keep all of `request`, in whose memory it
// lies, alive with it: batches that are a small part of it get memory of their own.
void detach_small_part(std::span<StagedBatch> batches, const Slice& request);

class Stage {
 public:
  // `on_more_to_do` is called, from the thread that stages, when the stage is no longer empty and
  // when it passes `full_at` bytes.
  Stage(std::size_t lanes, ByteCount full_at, std::function<void()> on_more_to_do);

  // The batches of one request, staged at `now`. Any thread, but one lane belongs to one core.
  void add(std::size_t lane, std::vector<StagedBatch> batches, MonoTime now);

  // Takes the oldest batches of every lane until `limit` bytes are reached; at least one batch if
  // there is one.
  [[nodiscard]] std::vector<StagedBatch> drain(ByteCount limit);

  [[nodiscard]] ByteCount bytes() const { return bytes_.load(std::memory_order_acquire); }
  // When the oldest staged batch came; nothing when the stage is empty.
  [[nodiscard]] std::optional<MonoTime> oldest() const;

 private:
  struct Entry {
    StagedBatch staged;
    MonoTime since;
  };
  struct Lane {
    mutable std::mutex mutex;
    std::deque<Entry> entries;
  };

  ByteCount take_from(Lane& lane, ByteCount limit, std::vector<StagedBatch>& out);

  const ByteCount full_at_;
  std::function<void()> on_more_to_do_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t first_lane_ = 0;  // drained first next time, so that no lane starves
  std::atomic<ByteCount> bytes_ = 0;
};

}  // namespace weir::produce
