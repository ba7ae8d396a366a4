// The parts that serve requests, made when the broker is registered: write path, read path, groups,
// APIs and background work. Owned by the broker process.
#pragma once
#include "broker/broker.h"
#include "broker/configs.h"
#include "broker/dispatcher.h"
#include "broker/ids.h"
#include "broker/work_memory.h"
#include "cache/object_cache.h"
#include "compaction/object_deleter.h"
#include "compaction/orphan_sweep.h"
#include "compaction/retention.h"
#include "fetch/fetch_session.h"
#include "fetch/fetcher.h"
#include "fetch/offset_lookup.h"
#include "fetch/waiters.h"
#include "groups/group_coordinator.h"
#include "main/object_access.h"
#include "produce/write_pipeline.h"
#include "runtime/rng.h"

#include <vector>

namespace weir {

struct ServingParts {
  const config::BrokerConfig& config;
  Clock& clock;
  Rng rng;
  MetricsRegistry& metrics;
  std::vector<Executor> cores;  // of connections
  Executor executor;            // the coordinator's
  storage::ObjectStore& store;
  metadata::Coordinator& coordinator;
  metadata::MetadataLog* shared_log;  // see broker::Broker
  broker::Configs& configs;
  fetch::Waiters& waiters;
};

class Serving {
 public:
  // On the coordinator's executor; outlives the coordinator's stop().
  explicit Serving(ServingParts parts);

  // Takes over the groups and starts the background work. May be called again after an error.
  Task<Status> start();
  [[nodiscard]] broker::Dispatcher& dispatcher() { return dispatcher_; }

  // Long polls and joins are answered now and wait no more; what is produced is written at once.
  Task<void> end_waits();
  // After the last request: commits what is staged and ends.
  Task<void> stop();

  // Memory that is reserved for answers and for what requests become; all of it is given back when
  // nothing is being asked.
  [[nodiscard]] ByteCount reserved_memory() const {
    return fetch_memory_.used() + work_memory_.used();
  }
  [[nodiscard]] ByteCount reserved_memory_limit() const {
    return fetch_memory_.limit() + work_memory_.limit();
  }
  [[nodiscard]] ByteCount cached_bytes() const { return cache_.bytes(); }

 private:
  Task<void> expire_producers();

  ServingParts parts_;
  cache::ObjectCache cache_;
  CachedObjects objects_;
  produce::WritePipeline pipeline_;
  ByteBudget fetch_memory_;
  fetch::Fetcher fetcher_;
  fetch::FetchSessionCache sessions_;
  fetch::OffsetLookup lookup_;
  groups::GroupCoordinator groups_;
  broker::IdSource ids_;
  compaction::Retention retention_;
  compaction::ObjectDeleter deleter_;
  compaction::OrphanSweep orphans_;
  TaskGroup answers_;  // of Produce requests
  TaskGroup background_;
  broker::WorkMemory work_memory_;
  broker::Broker broker_;
  broker::Dispatcher dispatcher_;
};

}  // namespace weir
