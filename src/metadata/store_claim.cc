#include "metadata/store_claim.h"

#include "metadata/log/object_log_format.h"
#include "metadata/snapshot_manifest.h"
#include "metadata/store_marker.h"
#include "runtime/backoff.h"
#include "runtime/log.h"
#include "storage/wal_object.h"

#include <fmt/format.h>

#include <optional>

namespace weir::metadata {
namespace {

constexpr Duration kRetryBase = std::chrono::milliseconds(100);
constexpr Duration kRetryCap = std::chrono::seconds(2);

// Of records, as many objects are looked at for one that says whose it is.
constexpr std::size_t kMostLooked = 50;

constexpr std::string_view kRecords = "data/";

// What tells whose a store is.
struct Trace {
  storage::ObjectKey key;  // empty: there is nothing of any cluster
  Uuid cluster;            // zero: the object does not say
};

Trace by_marker(const Uuid& cluster) {
  return {.key = std::string(kStoreMarkerKey), .cluster = cluster};
}

Task<Result<std::optional<Uuid>>> read_marker(storage::ObjectStore& store,
                                              const StoreClaimNames& names) {
  auto bytes = co_await store.get(std::string(kStoreMarkerKey));
  if (!bytes && bytes.error().code == ErrorCode::kNotFound) co_return std::nullopt;
  if (!bytes) co_return std::unexpected(bytes.error());
  auto cluster = decode_store_marker(bytes->bytes());
  if (cluster) co_return *cluster;
  co_return std::unexpected(
      cluster.error().in(fmt::format("object \"{}\" of object.store.url {}: if it is damaged "
                                     "there, and the store is surely that of "
                                     "this log, delete it, and a broker writes it anew",
                                     kStoreMarkerKey, names.store)));
}

std::string cluster_name(const Uuid& cluster) {
  return cluster.is_zero() ? "a cluster that cannot be told" : "cluster " + cluster.to_string();
}

std::unexpected<Error> differs(const StoreClaimNames& names, const Trace& trace, const Uuid& log) {
  return fail(
      ErrorCode::kConflict,
      fmt::format("object.store.url {} belongs to {} (object \"{}\"), metadata.log.url {} is "
                  "the log of {}: give the log that belongs to the store, or the store that "
                  "belongs to the log",
                  names.store, cluster_name(trace.cluster), trace.key, names.log,
                  cluster_name(log)));
}

class Claim {
 public:
  Claim(MetadataLog& log, storage::ObjectStore& store, const StoreClaimNames& names, Rng& rng)
      : log_(log), store_(store), names_(names), rng_(rng) {}

  // The marker is read first: whoever finds it finds the id that was in the log before.
  Task<Result<Uuid>> judge() {
    WEIR_CO_TRY(const std::optional<Uuid> marker, co_await read_marker(store_, names_));
    WEIR_CO_TRY(Uuid cluster, co_await log_.cluster_id({}));
    if (marker == cluster) co_return cluster;
    if (marker && !cluster.is_zero()) co_return differs(names_, by_marker(*marker), cluster);
    WEIR_CO_TRY(const Position tail, co_await log_.tail());
    if (cluster.is_zero() && tail > 0) co_return log_without_id(tail);
    if (marker) co_return new_log(by_marker(*marker));
    WEIR_CO_TRY(const Trace trace, co_await look_into_store(cluster));
    if (cluster.is_zero()) {
      if (!trace.key.empty()) co_return new_log(trace);
      WEIR_CO_TRY(cluster, co_await log_.cluster_id(Uuid::from_random(rng_.next(), rng_.next())));
    } else if (trace.cluster != cluster) {
      if (!trace.key.empty()) co_return differs(names_, trace, cluster);
      if (tail > 0) co_return nothing_there(cluster, tail);
    }
    co_return co_await mark(cluster);
  }

 private:
  Task<Result<Uuid>> mark(Uuid cluster) {
    const storage::ObjectKey key(kStoreMarkerKey);
    const Chain body(encode_store_marker(cluster));
    Status put = co_await store_.put(key, body, {.if_absent = true});
    // Stores without conditional writes refuse them, or do not notice the condition.
    if (!put && put.error().code == ErrorCode::kInvalid) put = co_await store_.put(key, body);
    if (!put && put.error().code != ErrorCode::kConflict) co_return std::unexpected(put.error());
    WEIR_CO_TRY(const std::optional<Uuid> marker, co_await read_marker(store_, names_));
    if (marker == cluster) {
      log::info("store.claimed", {{"store", names_.store}, {"cluster_id", cluster}});
      co_return cluster;
    }
    if (marker) co_return differs(names_, by_marker(*marker), cluster);
    co_return fail(ErrorCode::kUnavailable,
                   fmt::format("object.store.url {} does not show the object \"{}\" that was just "
                               "written",
                               names_.store, kStoreMarkerKey));
  }

  // `cluster`: of the log; what proves that the store is its own counts for more than what does
  // not say whose it is.
  Task<Result<Trace>> look_into_store(Uuid cluster) {
    WEIR_CO_TRY(Trace trace, co_await look_at_records());
    if (!trace.cluster.is_zero()) co_return trace;
    WEIR_CO_TRY(const Trace log, co_await look_at_log());
    if (!log.cluster.is_zero()) co_return log;
    if (!cluster.is_zero()) {
      WEIR_CO_TRY(const SnapshotRef latest, co_await log_.latest_snapshot());
      WEIR_CO_TRY(const bool is_there, co_await has_snapshot(latest));
      if (is_there) co_return Trace{.key = latest.manifest_key, .cluster = cluster};
    }
    for (const std::string_view folder : {kSnapshotPrefix, object_log::kLog}) {
      if (!trace.key.empty()) break;
      WEIR_CO_TRY(const auto page, co_await store_.list(std::string(folder), "", 1));
      if (!page.objects.empty()) trace.key = page.objects.front().key;
    }
    co_return trace;
  }

  Task<Result<Trace>> look_at_records() {
    WEIR_CO_TRY(const auto page, co_await store_.list(std::string(kRecords), "", kMostLooked));
    Trace trace;
    for (const storage::ObjectInfo& object : page.objects) {
      if (!storage::parse_wal_object_key(object.key)) continue;
      trace.key = object.key;
      if (object.size < storage::kWalFooterSize) continue;
      const storage::ByteRange range{.from = object.size - storage::kWalFooterSize,
                                     .count = storage::kWalFooterSize};
      auto tail = co_await store_.get_range(object.key, range);
      if (!tail && tail.error().code == ErrorCode::kNotFound) continue;
      if (!tail) co_return std::unexpected(tail.error());
      const auto footer = storage::parse_wal_footer(tail->bytes(), object.size);
      if (footer) co_return Trace{.key = object.key, .cluster = footer->id.cluster};
    }
    co_return trace;
  }

  // One that lies in the store: of the log that was given, or of another cluster's.
  Task<Result<Trace>> look_at_log() {
    const storage::ObjectKey key(object_log::kClusterId);
    auto bytes = co_await store_.get(key);
    if (!bytes && bytes.error().code == ErrorCode::kNotFound) co_return Trace{};
    if (!bytes) co_return std::unexpected(bytes.error());
    co_return Trace{.key = key, .cluster = decode_store_marker(bytes->bytes()).value_or(Uuid())};
  }

  Task<Result<bool>> has_snapshot(const SnapshotRef& latest) {
    if (latest.manifest_key.empty()) co_return false;
    auto bytes = co_await store_.get(latest.manifest_key);
    if (!bytes && bytes.error().code == ErrorCode::kNotFound) co_return false;
    if (!bytes) co_return std::unexpected(bytes.error());
    const auto manifest = decode_manifest(bytes->bytes());
    co_return manifest && manifest->position == latest.position;
  }

  [[nodiscard]] std::unexpected<Error> new_log(const Trace& trace) const {
    return fail(ErrorCode::kConflict,
                fmt::format("metadata.log.url {} is a new log without a cluster id, but "
                            "object.store.url {} belongs to {} (object \"{}\"): give the log that "
                            "belongs to the store, or for a new cluster an empty store or prefix",
                            names_.log, names_.store, cluster_name(trace.cluster), trace.key));
  }
  [[nodiscard]] std::unexpected<Error> nothing_there(const Uuid& cluster, Position tail) const {
    return fail(ErrorCode::kConflict,
                fmt::format("metadata.log.url {} is the log of cluster {} with {} entries, but "
                            "object.store.url {} holds nothing of any cluster: give the store that "
                            "belongs to the log, or for a new cluster a new log",
                            names_.log, cluster.to_string(), tail, names_.store));
  }
  [[nodiscard]] std::unexpected<Error> log_without_id(Position tail) const {
    return fail(ErrorCode::kConflict,
                fmt::format("metadata.log.url {} has {} entries and no cluster id: a part of it is "
                            "missing; restore it whole",
                            names_.log, tail));
  }

  MetadataLog& log_;
  storage::ObjectStore& store_;
  const StoreClaimNames& names_;
  Rng& rng_;
};

}  // namespace

Task<Result<Uuid>> claim_store(MetadataLog& log, storage::ObjectStore& store, StoreClaimNames names,
                               Rng& rng) {
  Claim claim(log, store, names, rng);
  auto first = co_await claim.judge();
  if (first || first.error().code != ErrorCode::kConflict) co_return first;
  // A refusal is for good: it must not come of one damaged answer, nor of a broker of the same
  // cluster that writes the first entries while this one looks.
  co_return co_await claim.judge();
}

Task<Status> check_store(MetadataLog& log, storage::ObjectStore& store, StoreClaimNames names) {
  WEIR_CO_TRY(const std::optional<Uuid> marker, co_await read_marker(store, names));
  if (!marker) co_return Status();
  WEIR_CO_TRY(const Uuid cluster, co_await log.cluster_id({}));
  if (marker == cluster) co_return Status();
  co_return differs(names, by_marker(*marker), cluster);
}

StoreClaim::StoreClaim(MetadataLog& log, storage::ObjectStore& store, StoreClaimNames names,
                       Clock& clock, Rng rng)
    : log_(log),
      store_(store),
      names_(std::move(names)),
      clock_(clock),
      rng_(rng),
      status_(fail(ErrorCode::kUnavailable, "it is being found out whose the object store is")) {}

Task<Status> StoreClaim::run(TaskGroup& group) {
  Backoff backoff(kRetryBase, kRetryCap);
  static log::RateLimit limit(std::chrono::seconds(10));
  do {
    auto claimed = co_await claim_store(log_, store_, names_, rng_);
    set(claimed ? Status() : std::unexpected(claimed.error()));
    if (claimed || claimed.error().code == ErrorCode::kConflict) co_return status();
    log::warn(limit, "store.claim.failed", {{"error", claimed.error()}});
  } while (co_await group.sleep(clock_, backoff.next(rng_)));
  co_return fail(ErrorCode::kCancelled, "the broker stops");
}

Status StoreClaim::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

void StoreClaim::set(Status status) {
  std::lock_guard lock(mutex_);
  status_ = std::move(status);
}

}  // namespace weir::metadata
