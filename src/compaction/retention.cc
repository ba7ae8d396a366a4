#include "compaction/retention.h"

#include "metadata/live_owner.h"
#include "runtime/log.h"

namespace weir::compaction {
namespace {

// Trims of one entry in the metadata log.
constexpr std::size_t kMaxTrims = 4096;

}  // namespace

Retention::Retention(metadata::Coordinator& coordinator, RuleOf rule_of, Clock& clock,
                     MetricsRegistry& metrics)
    : coordinator_(coordinator),
      rule_of_(std::move(rule_of)),
      clock_(clock),
      moved_(metrics.counter("weir_retention_moved_log_starts_total",
                             "Log starts that retention moved.")) {}

void Retention::collect(const metadata::TopicImage& topic, RetentionRule rule, TimestampMs now,
                        metadata::TrimLogs& command) const {
  for (PartitionIndex i = 0; i < topic.partition_count() && command.trims.size() < kMaxTrims; ++i) {
    metadata::PartitionView view = topic.partition(i)->view();
    Offset start = retained_start(view, rule, now);
    if (start > view.log_start)
      command.trims.push_back({.topic = topic.id, .partition = i, .log_start = start});
  }
}

Task<Result<std::size_t>> Retention::run_once() {
  auto image = coordinator_.image();
  metadata::TrimLogs command{.reason = metadata::TrimReason::kRetention, .trims = {}};
  const TimestampMs now = clock_.wall_ms();
  image->topics_by_id.for_each(
      [&](const TopicId&, const std::shared_ptr<const metadata::TopicImage>& topic) {
        if (auto rule = rule_of_(topic)) collect(*topic, *rule, now, command);
      });
  std::size_t count = command.trims.size();
  if (count == 0) co_return count;
  WEIR_CO_CHECK(co_await coordinator_.submit(std::move(command)));
  moved_.add(count);
  co_return count;
}

Task<void> Retention::run(TaskGroup& group, Duration interval, BrokerId self) {
  while (co_await group.sleep(clock_, interval)) {
    if (metadata::live_owner(*coordinator_.image(), "retention") != self) continue;
    // What did not fit into one entry is taken at once.
    auto moved = co_await run_once();
    while (moved && *moved >= kMaxTrims && !group.stopping()) moved = co_await run_once();
    if (!moved) log::warn("retention.failed", {{"error", moved.error()}});
  }
}

}  // namespace weir::compaction
