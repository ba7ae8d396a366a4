// The configuration that counts now: what the broker was started with, under what was set while it
// ran (in the cluster image), and each topic's own. Owned by main, which registers it with the
// coordinator. Any thread reads; each core has a lock and a memory of topics of its own.
#pragma once
#include "config/broker_config.h"
#include "config/layers.h"
#include "config/topic_config.h"
#include "kafka/records/validation.h"
#include "metadata/coordinator.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace weir::broker {

// One state of the broker's configuration; immutable.
struct ConfigState {
  config::BrokerLayers layers;
  config::BrokerConfig broker;
};

// A topic's configuration as produce, fetch and the admin APIs need it; immutable.
class TopicRules {
 public:
  explicit TopicRules(const config::TopicConfig& config);

  [[nodiscard]] const config::TopicConfig& config() const { return config_; }
  [[nodiscard]] kafka::ValidationRules validation(std::int16_t produce_version) const;
  [[nodiscard]] bool stamps_log_append_time() const { return validation_.log_append_time; }

 private:
  config::TopicConfig config_;
  kafka::ValidationRules validation_;
};

class Configs final : public metadata::CommitListener {
 public:
  Configs(config::BrokerLayers layers, config::BrokerConfig broker, config::Machine machine,
          config::Permissions permissions, metadata::Coordinator& coordinator, std::size_t cores);

  // As of the last change, for a caller on `core`.
  [[nodiscard]] std::shared_ptr<const ConfigState> current(std::size_t core) const;
  [[nodiscard]] std::shared_ptr<const TopicRules> of(
      std::size_t core, const std::shared_ptr<const metadata::TopicImage>& topic);

  [[nodiscard]] const config::Machine& machine() const { return machine_; }
  [[nodiscard]] const config::Permissions& permissions() const { return permissions_; }

  void on_partitions_advanced(std::span<const TopicPartition>) override {}
  void on_image_changed() override;

 private:
  struct Known {
    std::shared_ptr<const metadata::TopicImage> topic;  // that the rules were made from
    std::shared_ptr<const TopicRules> rules;
  };
  struct Core {
    mutable std::mutex mutex;
    std::shared_ptr<const ConfigState> state;
    std::unordered_map<TopicId, Known> topics;
  };

  [[nodiscard]] std::shared_ptr<const ConfigState> make_state(
      const metadata::ClusterImage& image) const;

  const config::BrokerLayers static_layers_;
  const config::Machine machine_;
  const config::Permissions permissions_;
  const BrokerId node_id_;
  metadata::Coordinator& coordinator_;
  std::vector<std::unique_ptr<Core>> cores_;
};

}  // namespace weir::broker
