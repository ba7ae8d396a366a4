#include "base/units.h"
#include "sim/cluster_run.h"

#include <fmt/format.h>

#include <limits>

namespace weir::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

NodeSettings draw_settings(Rng& rng) {
  NodeSettings out;
  out.sets = {"object.store.url=memory:", "metadata.log.url=memory:",
              "group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000"};
  const auto set = [&](const char* key, std::uint64_t value) {
    out.sets.push_back(fmt::format("{}={}", key, value));
  };
  // A broker whose clock is wrong by hours would refuse records for their time, as Kafka does: no
  // client sends those again, and one that goes on without them needs another producer id.
  set("log.message.timestamp.after.max.ms", std::numeric_limits<std::int64_t>::max());
  set("diskless.append.commit.interval.ms", 10 + rng.below(250));
  set("diskless.append.upload.max.inflight", 1 + rng.below(8));
  set("metadata.log.max.entries.between.snapshots", 20 + rng.below(500));
  const std::uint64_t cache = rng.below(2) == 0 ? rng.below(5000) : 1_MiB;
  set("cache.max.bytes", cache);
  if (rng.below(3) == 0) out.limits.memory_bytes = cache + 256_KiB + rng.below(1_MiB);
  if (out.limits.memory_bytes || rng.below(2) == 0)
    set("diskless.append.buffer.max.bytes", 1024 + rng.below(4096));
  set("broker.session.timeout.ms", 1500 + rng.below(4000));
  set("broker.heartbeat.interval.ms", 200 + rng.below(300));
  set("log.retention.check.interval.ms", 1000 + rng.below(5000));
  set("object.orphan.scan.interval.ms", 1000 + rng.below(5000));
  if (rng.below(3) == 0) set("max.incremental.fetch.session.cache.slots", rng.below(3));
  const seconds delete_grace(1 + rng.below(20));
  const seconds orphan_grace(25 + rng.below(20));
  set("object.delete.grace.ms", static_cast<std::uint64_t>(milliseconds(delete_grace).count()));
  set("object.orphan.grace.ms", static_cast<std::uint64_t>(milliseconds(orphan_grace).count()));
  out.witness = {.orphan_grace = orphan_grace,
                 .delete_grace = delete_grace,
                 .clock_error = 2 * (kMostClockError + seconds(1))};
  if (rng.below(2) == 0) out.limits.retries.deadline = milliseconds(500 + rng.below(5000));
  if (rng.below(3) == 0) out.limits.appender.record_commands = 1 + rng.below(3);
  if (rng.below(3) == 0) out.limits.appender.queue_commands = 4 + rng.below(16);
  if (rng.below(3) == 0) out.limits.appender.patience = milliseconds(100 + rng.below(1000));
  out.clock_drift = rng.below(2) == 0 ? 0.0005 : 0.05;
  out.expiry_interval = milliseconds(100 + rng.below(1000));
  set("offsets.retention.check.interval.ms",
      static_cast<std::uint64_t>(
          std::chrono::duration_cast<milliseconds>(out.expiry_interval).count()));
  if (rng.below(3) == 0) {
    const milliseconds retention(500 + rng.below(3000));
    out.short_retention = retention;
    out.limits.offsets_retention_ms = retention.count();
    out.witness.offsets_retention = retention;
    out.clock_drift = 0;
  } else {
    out.witness.offsets_retention -= out.witness.clock_error;
  }
  return out;
}

}  // namespace weir::sim
