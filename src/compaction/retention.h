// Moves log starts by retention.ms and retention.bytes: one pass looks at every partition's view
// and appends one entry for those that have something to lose. Owned by main; runs on the executor
// it is given.
#pragma once
#include "compaction/retention_rule.h"
#include "metadata/coordinator.h"
#include "runtime/clock.h"
#include "runtime/metrics.h"
#include "runtime/task_group.h"

#include <functional>
#include <memory>

namespace weir::compaction {

class Retention {
 public:
  // The rule of a topic; nothing when its cleanup.policy does not delete.
  using RuleOf = std::function<std::optional<RetentionRule>(
      const std::shared_ptr<const metadata::TopicImage>&)>;

  Retention(metadata::Coordinator& coordinator, RuleOf rule_of, Clock& clock,
            MetricsRegistry& metrics);

  // One pass. The number of partitions whose log start moved.
  Task<Result<std::size_t>> run_once();
  // Passes until the group stops, while `self` is the broker of the cluster that does it.
  Task<void> run(TaskGroup& group, Duration interval, BrokerId self);

 private:
  void collect(const metadata::TopicImage& topic, RetentionRule rule, TimestampMs now,
               metadata::TrimLogs& command) const;

  metadata::Coordinator& coordinator_;
  RuleOf rule_of_;
  Clock& clock_;
  Counter& moved_;
};

}  // namespace weir::compaction
