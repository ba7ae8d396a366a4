#include "produce/flush_policy.h"

#include <algorithm>

namespace weir::produce {
namespace {

// The budget saves up at most one second's worth, and always at least one PUT.
double bucket_size(const FlushLimits& limits) {
  return std::max(1.0, limits.early_puts_per_second.value_or(0));
}

}  // namespace

FlushPolicy::FlushPolicy(FlushLimits limits) : limits_(limits), tokens_(bucket_size(limits)) {}

bool FlushPolicy::should_flush(const FlushSituation& situation) {
  if (situation.staged == 0 || situation.uploads >= limits_.max_uploads) return false;
  if (situation.staged >= limits_.buffer_max) return true;
  if (situation.now - situation.oldest >= limits_.interval) return true;
  return situation.uploads == 0 && may_flush_early(situation.now);
}

std::optional<MonoTime> FlushPolicy::ask_again_at(const FlushSituation& situation) const {
  // With every slot in use only the end of an upload helps.
  if (situation.staged == 0 || situation.uploads >= limits_.max_uploads) return std::nullopt;
  MonoTime due = situation.oldest + limits_.interval;
  double rate = limits_.early_puts_per_second.value_or(0);
  if (situation.uploads == 0 && rate > 0 && tokens_ < 1) {
    auto until_token =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>((1 - tokens_) / rate));
    due = std::min(due, refilled_at_ + until_token + std::chrono::microseconds(1));
  }
  return due;
}

bool FlushPolicy::may_flush_early(MonoTime now) {
  if (!limits_.early_puts_per_second) return true;
  refill(now);
  if (*limits_.early_puts_per_second <= 0 || tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

void FlushPolicy::refill(MonoTime now) {
  double seconds = std::chrono::duration<double>(now - refilled_at_).count();
  tokens_ = std::min(bucket_size(limits_), tokens_ + seconds * *limits_.early_puts_per_second);
  refilled_at_ = now;
}

}  // namespace weir::produce
