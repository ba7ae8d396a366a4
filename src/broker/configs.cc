#include "broker/configs.h"

#include "runtime/log.h"

namespace weir::broker {
namespace {

// A topic's image changes with its configuration and is forgotten when a core has seen this many
// topics more than there are.
constexpr std::size_t kForgottenTopics = 1024;

std::optional<kafka::Compression> compression_of(const config::TopicConfig& config) {
  using config::CompressionType;
  switch (config.compression) {
    case CompressionType::kProducer:
      return std::nullopt;
    case CompressionType::kUncompressed:
      return kafka::Compression{.codec = kafka::Codec::kNone};
    case CompressionType::kGzip:
      return kafka::Compression{.codec = kafka::Codec::kGzip, .level = config.gzip_level};
    case CompressionType::kSnappy:
      return kafka::Compression{.codec = kafka::Codec::kSnappy};
    case CompressionType::kLz4:
      return kafka::Compression{.codec = kafka::Codec::kLz4, .level = config.lz4_level};
    case CompressionType::kZstd:
      return kafka::Compression{.codec = kafka::Codec::kZstd, .level = config.zstd_level};
  }
  return std::nullopt;
}

const metadata::ConfigMap* dynamic_settings(const metadata::ClusterImage& image,
                                            const std::string& broker_name) {
  auto at = image.configs.find({metadata::ConfigResourceType::kBroker, broker_name});
  return at == image.configs.end() ? nullptr : &at->second;
}

}  // namespace

TopicRules::TopicRules(const config::TopicConfig& config) : config_(config) {
  validation_.max_message_bytes = static_cast<std::size_t>(config.max_message_bytes);
  validation_.segment_bytes = static_cast<std::size_t>(config.segment_bytes);
  validation_.compacted = config.compact;
  validation_.log_append_time = config.timestamp_type == config::TimestampType::kLogAppendTime;
  validation_.timestamp_before_max_ms = config.timestamp_before_max_ms;
  validation_.timestamp_after_max_ms = config.timestamp_after_max_ms;
  validation_.compression = compression_of(config);
  validation_.max_decompressed_record_bytes = config.max_decompressed_message_bytes;
}

kafka::ValidationRules TopicRules::validation(std::int16_t produce_version) const {
  kafka::ValidationRules rules = validation_;
  rules.produce_version = produce_version;
  return rules;
}

Configs::Configs(config::BrokerLayers layers, config::BrokerConfig broker, config::Machine machine,
                 config::Permissions permissions, metadata::Coordinator& coordinator,
                 std::size_t cores)
    : static_layers_(std::move(layers)),
      machine_(std::move(machine)),
      permissions_(permissions),
      node_id_(broker.node_id),
      coordinator_(coordinator) {
  auto state = std::make_shared<const ConfigState>(
      ConfigState{.layers = static_layers_, .broker = std::move(broker)});
  for (std::size_t i = 0; i < cores; ++i) {
    cores_.push_back(std::make_unique<Core>());
    cores_.back()->state = state;
  }
}

std::shared_ptr<const ConfigState> Configs::current(std::size_t core) const {
  std::lock_guard lock(cores_[core]->mutex);
  return cores_[core]->state;
}

std::shared_ptr<const TopicRules> Configs::of(
    std::size_t core, const std::shared_ptr<const metadata::TopicImage>& topic) {
  Core& own = *cores_[core];
  std::lock_guard lock(own.mutex);
  Known& known = own.topics[topic->id];
  if (known.topic != topic) {
    known = {.topic = topic,
             .rules = std::make_shared<const TopicRules>(
                 config::make_topic_config(topic->configs, own.state->layers))};
  }
  return known.rules;
}

std::shared_ptr<const ConfigState> Configs::make_state(const metadata::ClusterImage& image) const {
  config::BrokerLayers layers = static_layers_;
  if (const auto* own = dynamic_settings(image, std::to_string(node_id_)))
    layers.dynamic_broker = *own;
  if (const auto* all = dynamic_settings(image, "")) layers.dynamic_default = *all;
  auto broker = config::make_broker_config(layers, machine_, permissions_);
  if (!broker) {
    // What was set is checked before it is logged; another release may have had other rules.
    log::error("config.dynamic.refused", {{"error", broker.error()}});
    return nullptr;
  }
  return std::make_shared<const ConfigState>(
      ConfigState{.layers = std::move(layers), .broker = std::move(*broker)});
}

void Configs::on_image_changed() {
  auto image = coordinator_.image();
  auto state = make_state(*image);
  std::size_t limit = image->topics_by_id.size() + kForgottenTopics;
  for (const auto& core : cores_) {
    std::lock_guard lock(core->mutex);
    bool has_new_defaults =
        state && (state->layers.dynamic_broker != core->state->layers.dynamic_broker ||
                  state->layers.dynamic_default != core->state->layers.dynamic_default);
    if (has_new_defaults) core->state = state;
    if (has_new_defaults || core->topics.size() > limit) core->topics.clear();
  }
}

}  // namespace weir::broker
