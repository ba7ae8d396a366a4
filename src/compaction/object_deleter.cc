#include "compaction/object_deleter.h"

#include "base/planted.h"
#include "metadata/live_owner.h"
#include "runtime/log.h"
#include "storage/wal_object.h"

namespace weir::compaction {

ObjectDeleter::ObjectDeleter(metadata::Coordinator& coordinator, storage::ObjectStore& store,
                             Clock& clock, Duration grace, MetricsRegistry& metrics)
    : coordinator_(coordinator),
      store_(store),
      clock_(clock),
      grace_(planted(Bug::kDeleteGraceIgnored) ? Duration::zero() : grace),
      deleted_(metrics.counter("weir_deleted_objects_total",
                               "Objects that were deleted after their grace period.")),
      deleted_bytes_(
          metrics.counter("weir_deleted_object_bytes_total", "Bytes of the deleted objects.")) {}

void ObjectDeleter::look() {
  const MonoTime now = clock_.now();
  if (!seen_.empty() && now - seen_.back().when < grace_ / kMostSeen) return;
  seen_.push_back({.when = now, .applied = coordinator_.applied()});
  forget_old();
}

void ObjectDeleter::forget_old() {
  const MonoTime until = clock_.now() - grace_;
  while (seen_.size() > 1 && seen_[1].when <= until) seen_.pop_front();
}

Task<Result<std::size_t>> ObjectDeleter::run_once() {
  forget_old();
  if (seen_.empty() || seen_.front().when > clock_.now() - grace_) co_return 0;
  WEIR_CO_TRY(auto objects, co_await coordinator_.deletable_objects(seen_.front().applied, kBatch));
  if (objects.empty()) co_return 0;
  std::vector<storage::ObjectKey> keys;
  metadata::ForgetObjects command;
  ByteCount bytes = 0;
  for (const metadata::DeletableObject& object : objects) {
    keys.push_back(storage::wal_object_key(object.id.epoch, object.id.sequence));
    command.objects.push_back({.epoch = object.id.epoch, .sequence = object.id.sequence});
    bytes += object.size;
  }
  // First the bytes, then the memory of them: a crash between the two repeats the delete.
  WEIR_CO_CHECK(co_await store_.remove(std::move(keys)));
  WEIR_CO_CHECK(co_await coordinator_.submit(std::move(command)));
  deleted_.add(objects.size());
  deleted_bytes_.add(bytes);
  co_return objects.size();
}

Task<void> ObjectDeleter::run(TaskGroup& group, Duration interval, BrokerId self) {
  while (co_await group.sleep(clock_, interval)) {
    look();
    if (metadata::live_owner(*coordinator_.image(), "object deletion") != self) continue;
    auto deleted = co_await run_once();
    while (deleted && *deleted == kBatch && !group.stopping()) deleted = co_await run_once();
    if (!deleted) log::warn("object.delete.failed", {{"error", deleted.error()}});
  }
}

}  // namespace weir::compaction
