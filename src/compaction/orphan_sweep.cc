#include "compaction/orphan_sweep.h"

#include "base/planted.h"
#include "metadata/live_owner.h"
#include "runtime/log.h"
#include "storage/wal_object.h"

#include <map>

namespace weir::compaction {
namespace {

constexpr std::string_view kFolder = "data/";

}  // namespace

OrphanSweep::OrphanSweep(metadata::Coordinator& coordinator, storage::ObjectStore& store,
                         Clock& clock, OrphanSweepOptions options, MetricsRegistry& metrics)
    : coordinator_(coordinator),
      store_(store),
      clock_(clock),
      options_(options),
      removed_(
          metrics.counter("weir_orphan_objects_total",
                          "Objects of ended broker epochs that were never committed, removed.")),
      removed_bytes_(
          metrics.counter("weir_orphan_object_bytes_total", "Bytes of the removed orphans.")),
      foreign_(metrics.counter("weir_orphan_foreign_objects_total",
                               "Unknown objects that were left because their footer names another "
                               "cluster or cannot be read.")) {}

bool OrphanSweep::is_mine() const {
  return metadata::live_owner(*coordinator_.image(), "orphan sweep") == options_.self;
}

Task<Result<std::size_t>> OrphanSweep::run_once(const TaskGroup& group) {
  WEIR_CO_CHECK(co_await coordinator_.catch_up());
  std::size_t removed = 0;
  std::string after;
  while (is_mine() && !group.stopping()) {
    WEIR_CO_TRY(storage::ListPage page,
                co_await store_.list(std::string(kFolder), after, storage::kMaxListLimit));
    WEIR_CO_TRY(std::size_t count, co_await sweep(page.objects));
    removed += count;
    if (!page.more || page.objects.empty()) break;
    after = page.objects.back().key;
  }
  co_return removed;
}

Task<Result<std::size_t>> OrphanSweep::sweep(const std::vector<storage::ObjectInfo>& listed) {
  if (planted(Bug::kOrphansStay)) co_return 0;
  auto grace_ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.grace).count();
  std::map<metadata::ObjectId, const storage::ObjectInfo*> by_id;
  std::vector<metadata::ObjectId> ids;
  for (const storage::ObjectInfo& object : listed) {
    const bool is_young = object.modified_ms > clock_.wall_ms() - grace_ms;
    if (is_young && !planted(Bug::kOrphansWithoutGrace)) continue;
    auto name = storage::parse_wal_object_key(object.key);
    if (!name) continue;
    ids.push_back({.epoch = name->broker_epoch, .sequence = name->sequence});
    by_id[ids.back()] = &object;
  }
  std::vector<storage::ObjectKey> keys;
  ByteCount bytes = 0;
  WEIR_CO_TRY(auto orphans, co_await coordinator_.orphans(std::move(ids)));
  for (const metadata::ObjectId& id : orphans) {
    const storage::ObjectInfo& object = *by_id.at(id);
    if (!co_await is_of_this_cluster(object)) continue;
    keys.push_back(object.key);
    bytes += object.size;
  }
  std::size_t count = keys.size();
  if (count == 0) co_return 0;
  WEIR_CO_CHECK(co_await store_.remove(std::move(keys)));
  removed_.add(count);
  removed_bytes_.add(bytes);
  log::info("orphans.removed", {{"objects", count}, {"bytes", bytes}});
  co_return count;
}

Task<bool> OrphanSweep::is_of_this_cluster(const storage::ObjectInfo& object) {
  bool is_ours = false;
  if (object.size >= storage::kWalFooterSize) {
    storage::ByteRange range{.from = object.size - storage::kWalFooterSize,
                             .count = storage::kWalFooterSize};
    auto tail = co_await store_.get_range(object.key, range);
    auto footer = tail ? storage::parse_wal_footer(tail->bytes(), object.size)
                       : Result<storage::WalFooter>(std::unexpected(tail.error()));
    is_ours = footer && footer->id.cluster == options_.cluster_id;
  }
  if (!is_ours) {
    foreign_.add();
    log::warn("orphan.foreign", {{"object", object.key}});
  }
  co_return is_ours;
}

Task<void> OrphanSweep::run(TaskGroup& group, Duration interval) {
  while (co_await group.sleep(clock_, interval)) {
    auto removed = co_await run_once(group);
    if (!removed) log::warn("orphans.sweep.failed", {{"error", removed.error()}});
  }
}

}  // namespace weir::compaction
