// The configuration of a broker in types: what the code reads. Built from the layers; a change of a
// dynamic layer builds it anew. A plain value. Milliseconds and bytes are as their names say.
#pragma once
#include "base/error.h"
#include "base/ids.h"
#include "base/units.h"
#include "config/latency.h"
#include "config/layers.h"
#include "config/listeners.h"
#include "config/zone_rules.h"
#include "runtime/log.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::config {

struct ConnectionConfig {
  unsigned threads = 1;
  std::int64_t max_connections = 0;
  std::int64_t max_idle_ms = 0;
  ByteCount max_request_bytes = 0;
  int listen_backlog = 0;
  int send_buffer_bytes = -1;     // -1: the system's choice
  int receive_buffer_bytes = -1;  // -1: the system's choice
};

struct AppendConfig {
  std::int64_t commit_interval_ms = 0;
  ByteCount buffer_max_bytes = 0;
  int upload_max_inflight = 0;
  std::optional<int> early_puts_per_second;  // nothing: no limit; 0: never early
};

struct FetchConfig {
  std::int32_t max_bytes = 0;
  std::int32_t max_sessions = 0;
};

struct NewTopicConfig {
  bool auto_create = true;
  bool deletion_allowed = true;
  std::int32_t partitions = 1;
  std::int16_t replication_factor = 1;
};

struct GroupLimits {
  std::int32_t initial_rebalance_delay_ms = 0;
  std::int32_t min_session_timeout_ms = 0;
  std::int32_t max_session_timeout_ms = 0;
  std::int32_t max_size = 0;
  std::int32_t offset_metadata_max_bytes = 0;
  std::int64_t offsets_retention_ms = 0;
  std::int64_t offsets_retention_check_interval_ms = 0;
};

struct MetadataConfig {
  Secret log_url;  // may hold a password
  bool log_allow_unsafe = false;
  std::int64_t snapshot_after_bytes = 0;
  std::int64_t snapshot_after_entries = 0;
  std::int64_t snapshot_after_ms = 0;  // 0: time does not count
  std::int64_t session_timeout_ms = 0;
  std::int64_t heartbeat_interval_ms = 0;
};

struct BrokerConfig {
  BrokerId node_id = 0;
  std::string rack;  // empty: none
  std::vector<Listener> listeners;
  std::string inter_broker_listener;  // in upper case; empty: the first one
  ZoneRules zones;
  std::optional<HostPort> http_listener;
  log::Format log_format = log::Format::kText;
  log::Level log_level = log::Level::kInfo;

  std::string object_store_url;
  std::int64_t object_delete_grace_ms = 0;
  std::int64_t orphan_grace_ms = 0;
  std::int64_t orphan_scan_interval_ms = 0;
  MetadataConfig metadata;

  ByteCount memory_budget_bytes = 0;
  ByteCount cache_max_bytes = 0;
  ConnectionConfig connections;
  AppendConfig append;
  FetchConfig fetch;
  NewTopicConfig new_topics;
  GroupLimits groups;
  std::int64_t retention_check_interval_ms = 0;
  std::int64_t producer_id_expiration_ms = 0;
  std::int32_t max_topic_partitions_per_answer = 0;  // DescribeTopicPartitions

  LatencyConfig dev_latency;

  // Things that are likely not meant, for the log.
  std::vector<std::string> warnings;
};

// For the frames of requests: half of the budget that is not the cache's. A quarter is for answers
// to fetches, and everything else may need the rest.
[[nodiscard]] ByteCount request_memory(const BrokerConfig& config);

// What the command line allows.
struct Permissions {
  bool volatile_backends = false;  // --dev: and delays for trying
};

// Reads the keys and checks them against each other. Errors: kInvalid, with the keys and what would
// be right.
[[nodiscard]] Result<BrokerConfig> make_broker_config(const BrokerLayers& layers,
                                                      const Machine& machine,
                                                      Permissions permissions);

}  // namespace weir::config
