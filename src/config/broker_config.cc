#include "config/broker_config.h"

#include <fmt/format.h>

namespace weir::config {
namespace {

std::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalid, std::move(message));
}

class Reader {
 public:
  explicit Reader(const BrokerLayers& layers) : layers_(&layers) {}

  template <typename T>
  void number(T& field, std::string_view name) {
    field = static_cast<T>(broker_number(*layers_, name));
  }
  void flag(bool& field, std::string_view name) { field = broker_flag(*layers_, name); }
  void text(std::string& field, std::string_view name) { field = broker_text(*layers_, name); }

 private:
  const BrokerLayers* layers_;
};

void read_connections(Reader& read, ConnectionConfig& out) {
  read.number(out.threads, "num.network.threads");
  read.number(out.max_connections, "max.connections");
  read.number(out.max_idle_ms, "connections.max.idle.ms");
  read.number(out.max_request_bytes, "socket.request.max.bytes");
  read.number(out.listen_backlog, "socket.listen.backlog.size");
  read.number(out.send_buffer_bytes, "socket.send.buffer.bytes");
  read.number(out.receive_buffer_bytes, "socket.receive.buffer.bytes");
}

void read_groups(Reader& read, GroupLimits& out) {
  read.number(out.initial_rebalance_delay_ms, "group.initial.rebalance.delay.ms");
  read.number(out.min_session_timeout_ms, "group.min.session.timeout.ms");
  read.number(out.max_session_timeout_ms, "group.max.session.timeout.ms");
  read.number(out.max_size, "group.max.size");
  read.number(out.offset_metadata_max_bytes, "offset.metadata.max.bytes");
  read.number(out.offsets_retention_ms, "offsets.retention.minutes");
  out.offsets_retention_ms *= 60'000;
  read.number(out.offsets_retention_check_interval_ms, "offsets.retention.check.interval.ms");
}

void read_metadata(Reader& read, const BrokerLayers& layers, MetadataConfig& out) {
  out.log_url = Secret(broker_text(layers, "metadata.log.url"));
  read.flag(out.log_allow_unsafe, "metadata.log.allow.unsafe");
  read.number(out.snapshot_after_bytes, "metadata.log.max.record.bytes.between.snapshots");
  read.number(out.snapshot_after_entries, "metadata.log.max.entries.between.snapshots");
  read.number(out.snapshot_after_ms, "metadata.log.max.snapshot.interval.ms");
  read.number(out.session_timeout_ms, "broker.session.timeout.ms");
  read.number(out.heartbeat_interval_ms, "broker.heartbeat.interval.ms");
}

void read_rest(Reader& read, BrokerConfig& out) {
  read.number(out.node_id, "node.id");
  read.text(out.object_store_url, "object.store.url");
  read.number(out.object_delete_grace_ms, "object.delete.grace.ms");
  read.number(out.orphan_grace_ms, "object.orphan.grace.ms");
  read.number(out.orphan_scan_interval_ms, "object.orphan.scan.interval.ms");
  read.number(out.memory_budget_bytes, "memory.budget.bytes");
  read.number(out.cache_max_bytes, "cache.max.bytes");
  read.number(out.append.commit_interval_ms, "diskless.append.commit.interval.ms");
  read.number(out.append.buffer_max_bytes, "diskless.append.buffer.max.bytes");
  read.number(out.append.upload_max_inflight, "diskless.append.upload.max.inflight");
  read.number(out.fetch.max_bytes, "fetch.max.bytes");
  read.number(out.fetch.max_sessions, "max.incremental.fetch.session.cache.slots");
  read.flag(out.new_topics.auto_create, "auto.create.topics.enable");
  read.flag(out.new_topics.deletion_allowed, "delete.topic.enable");
  read.number(out.new_topics.partitions, "num.partitions");
  read.number(out.new_topics.replication_factor, "default.replication.factor");
  read.number(out.retention_check_interval_ms, "log.retention.check.interval.ms");
  read.number(out.producer_id_expiration_ms, "producer.id.expiration.ms");
  read.number(out.max_topic_partitions_per_answer, "max.request.partition.size.limit");
}

Status read_inter_broker_listener(const BrokerLayers& layers, BrokerConfig& out) {
  const auto value = broker_value(layers, "inter.broker.listener.name");
  if (!value) return {};
  const auto& name = std::get<std::string>(*value);
  const Listener* listener = find_listener(out.listeners, name);
  if (listener == nullptr) {
    return invalid(fmt::format(
        "inter.broker.listener.name: {} is none of listeners, give the name of one of them", name));
  }
  out.inter_broker_listener = listener->name;
  return {};
}

Status read_addresses(const BrokerLayers& layers, const Machine& machine, BrokerConfig& out) {
  auto list_or_none = [&](std::string_view name) {
    auto value = broker_value(layers, name);
    return value ? std::get<List>(*std::move(value)) : List{};
  };
  WEIR_TRY(out.listeners,
           parse_listeners(
               {.listeners = broker_list(layers, "listeners"),
                .advertised = list_or_none("advertised.listeners"),
                .protocols = split_list(broker_text(layers, "listener.security.protocol.map")),
                .controller_names = list_or_none("controller.listener.names"),
                .host_name = machine.host_name}));
  WEIR_CHECK(read_inter_broker_listener(layers, out));
  WEIR_TRY(out.zones, parse_zone_rules(broker_list(layers, "zone.listeners"),
                                       broker_list(layers, "zone.cidrs"), out.listeners));
  if (const std::string http = broker_text(layers, "http.listener"); !http.empty()) {
    auto address = parse_host_port(http);
    if (!address) return std::unexpected(address.error().in("http.listener"));
    out.http_listener = *std::move(address);
  }
  if (auto rack = broker_value(layers, "broker.rack")) out.rack = std::get<std::string>(*rack);
  // The table has the names of the enumerations as the only valid values.
  out.log_format = log::parse_format(broker_text(layers, "log.format")).value_or(out.log_format);
  out.log_level = log::parse_level(broker_text(layers, "log.level")).value_or(out.log_level);
  return {};
}

Status check_backends(const BrokerConfig& config, Permissions permissions) {
  for (const auto& [name, url] :
       {std::pair<std::string_view, std::string_view>{"object.store.url", config.object_store_url},
        {"metadata.log.url", config.metadata.log_url.reveal()}}) {
    const auto colon = url.find(':');
    if (colon == std::string_view::npos || colon == 0) {
      return invalid(fmt::format("{}: must begin with a kind and a colon, for example {}", name,
                                 find_key(Scope::kBroker, name)->default_text));
    }
    if (is_memory_url(url) && !permissions.volatile_backends) {
      return invalid(fmt::format(
          "{}: memory: loses everything when the broker ends; it is allowed with --dev only",
          name));
    }
  }
  return {};
}

// Writers alone ask for early objects, and in a folder they cost nothing; elsewhere every request
// has a price.
std::optional<int> early_puts(const BrokerLayers& layers, std::string_view store_url) {
  constexpr int kDefault = 10;
  const auto value = broker_value(layers, "diskless.append.early.puts.per.second");
  const bool is_free = store_url.starts_with("file:") || is_memory_url(store_url);
  if (!value) return is_free ? std::nullopt : std::optional(kDefault);
  const auto rate = static_cast<int>(std::get<std::int64_t>(*value));
  return rate < 0 ? std::nullopt : std::optional(rate);
}

Status read_dev_latency(const BrokerLayers& layers, Permissions permissions, BrokerConfig& out) {
  const std::string text = broker_text(layers, "dev.latency");
  if (!text.empty() && !permissions.volatile_backends) {
    return invalid("dev.latency: makes the broker slow for trying; it is allowed with --dev only");
  }
  auto parsed = parse_latency(text);
  if (!parsed) return std::unexpected(parsed.error().in("dev.latency"));
  out.dev_latency = *parsed;
  return {};
}

struct AtMost {
  std::string_view small_name;
  std::int64_t small;
  std::string_view great_name;
  std::int64_t great;
};

Status check_order(const BrokerConfig& config) {
  const auto budget = static_cast<std::int64_t>(config.memory_budget_bytes);
  const auto cache = static_cast<std::int64_t>(config.cache_max_bytes);
  for (const AtMost& rule :
       {AtMost{"group.min.session.timeout.ms", config.groups.min_session_timeout_ms,
               "group.max.session.timeout.ms", config.groups.max_session_timeout_ms},
        AtMost{"broker.heartbeat.interval.ms", config.metadata.heartbeat_interval_ms + 1,
               "broker.session.timeout.ms", config.metadata.session_timeout_ms},
        AtMost{"cache.max.bytes", cache, "memory.budget.bytes", budget},
        AtMost{"diskless.append.buffer.max.bytes",
               static_cast<std::int64_t>(config.append.buffer_max_bytes),
               "memory.budget.bytes less cache.max.bytes", budget - cache}}) {
    if (rule.small <= rule.great) continue;
    const bool strictly = rule.small_name == "broker.heartbeat.interval.ms";
    return invalid(fmt::format("{} ({}) must be {} {} ({})", rule.small_name,
                               rule.small - (strictly ? 1 : 0), strictly ? "less than" : "at most",
                               rule.great_name, rule.great));
  }
  return {};
}

// The values that Kafka checks beside its table, in the types that are used.
Status check_values(const BrokerLayers& layers, const BrokerConfig& config) {
  for (std::string_view name :
       {"log.retention.ms", "log.retention.minutes", "log.retention.hours"}) {
    const auto value = broker_value(layers, name);
    if (value && std::get<std::int64_t>(*value) == 0) {
      return invalid(fmt::format("{}: must be at least 1, or -1 to keep records for ever", name));
    }
  }
  for (std::string_view name : {"log.roll.ms", "log.roll.hours"}) {
    const auto value = broker_value(layers, name);
    if (value && std::get<std::int64_t>(*value) < 1) {
      return invalid(fmt::format("{}: must be at least 1", name));
    }
  }
  for (std::string_view name : {"default.replication.factor", "group.initial.rebalance.delay.ms",
                                "group.min.session.timeout.ms", "offset.metadata.max.bytes",
                                "broker.heartbeat.interval.ms"}) {
    const std::int64_t least = name == "default.replication.factor" ? 1 : 0;
    const std::int64_t most = name == "default.replication.factor" ? INT16_MAX : INT32_MAX;
    const std::int64_t value = broker_number(layers, name);
    if (value < least || value > most) {
      return invalid(fmt::format("{}: {} must be from {} to {}", name, value, least, most));
    }
  }
  const auto broker_id = broker_number(layers, "broker.id");
  if (broker_id != -1 && broker_id != config.node_id) {
    return invalid(
        fmt::format("broker.id ({}) and node.id ({}) must be the same", broker_id, config.node_id));
  }
  return {};
}

// A request that is larger than all memory for requests would be read all the same, once no other
// is there, and take the broker beyond its budget.
void bound_requests(BrokerConfig& out) {
  ByteCount& limit = out.connections.max_request_bytes;
  const ByteCount memory = request_memory(out);
  if (limit <= memory) return;
  out.warnings.push_back(fmt::format(
      "socket.request.max.bytes ({}) is more than memory.budget.bytes ({}) has for requests: half "
      "of what cache.max.bytes ({}) leaves; requests of more than {} bytes are refused",
      limit, out.memory_budget_bytes, out.cache_max_bytes, memory));
  limit = memory;
}

void warn_of_messages(const BrokerLayers& layers, BrokerConfig& out) {
  const auto message_bytes = broker_number(layers, "message.max.bytes");
  if (message_bytes > static_cast<std::int64_t>(out.connections.max_request_bytes)) {
    out.warnings.push_back(fmt::format(
        "message.max.bytes ({}) is more than a request may have ({}: socket.request.max.bytes, or "
        "what memory.budget.bytes has for requests)",
        message_bytes, out.connections.max_request_bytes));
  }
}

}  // namespace

ByteCount request_memory(const BrokerConfig& config) {
  return (config.memory_budget_bytes - config.cache_max_bytes) / 2;
}

Result<BrokerConfig> make_broker_config(const BrokerLayers& layers, const Machine& machine,
                                        Permissions permissions) {
  BrokerConfig config;
  Reader read(layers);
  read_connections(read, config.connections);
  read_groups(read, config.groups);
  read_metadata(read, layers, config.metadata);
  read_rest(read, config);
  WEIR_CHECK(check_values(layers, config));
  WEIR_CHECK(read_addresses(layers, machine, config));
  WEIR_CHECK(check_backends(config, permissions));
  WEIR_CHECK(check_order(config));
  config.append.early_puts_per_second = early_puts(layers, config.object_store_url);
  WEIR_CHECK(read_dev_latency(layers, permissions, config));
  bound_requests(config);
  warn_of_messages(layers, config);
  return config;
}

}  // namespace weir::config
