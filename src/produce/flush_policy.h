// When to make an object of what is staged (docs/architecture.md, "Write path"): when it reaches
// the buffer limit, when the oldest batch has waited the commit interval, or early when no upload
// is in flight and the budget of early PUTs allows it. Nothing staged, nothing flushed. Pure but
// for its token bucket; used on the write pipeline's executor only.
#pragma once
#include "base/units.h"
#include "runtime/clock.h"

#include <optional>

namespace weir::produce {

struct FlushLimits {
  ByteCount buffer_max = 8_MiB;                        // diskless.append.buffer.max.bytes
  Duration interval = std::chrono::milliseconds(250);  // diskless.append.commit.interval.ms
  std::size_t max_uploads = 8;                         // diskless.append.upload.max.inflight
  std::optional<double> early_puts_per_second;  // nothing: early PUTs cost nothing; 0: never early
};

struct FlushSituation {
  ByteCount staged = 0;
  MonoTime oldest;  // meaningful when staged > 0
  std::size_t uploads = 0;
  MonoTime now;
};

class FlushPolicy {
 public:
  explicit FlushPolicy(FlushLimits limits);

  // True: flush now. An early flush takes a token of the budget.
  [[nodiscard]] bool should_flush(const FlushSituation& situation);
  // When to ask again if nothing is staged and no upload ends before; nothing: only then.
  [[nodiscard]] std::optional<MonoTime> ask_again_at(const FlushSituation& situation) const;

 private:
  [[nodiscard]] bool may_flush_early(MonoTime now);
  void refill(MonoTime now);

  FlushLimits limits_;
  double tokens_;
  MonoTime refilled_at_{};
};

}  // namespace weir::produce
