// The topics and their partitions. The coordinator's thread alone uses it.
#pragma once
#include "base/ids.h"
#include "metadata/state/image.h"
#include "metadata/state/partition_state.h"

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::metadata {

struct TopicState {
  std::shared_ptr<const TopicImage> image;
  std::deque<PartitionState>
      partitions;  // a deque: partitions stay where they are when some are added

  [[nodiscard]] PartitionState* partition(PartitionIndex index) {
    if (index < 0 || static_cast<std::size_t>(index) >= partitions.size()) return nullptr;
    return &partitions[static_cast<std::size_t>(index)];
  }
};

class TopicTable {
 public:
  // For lookups alone: its order means nothing.
  using Topics = std::unordered_map<TopicId, TopicState>;

  [[nodiscard]] TopicState* find(const TopicId& id);
  [[nodiscard]] TopicState* find(std::string_view name);
  [[nodiscard]] const Topics& topics() const { return topics_; }
  [[nodiscard]] Topics& topics() { return topics_; }
  // Names differ only in '.' and '_', which metric names cannot tell apart.
  [[nodiscard]] bool collides(std::string_view name) const;
  // Of the topics' descriptions; partitions have hashes of their own.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

  // The name and the id must be new.
  TopicState& add(TopicImage image);
  void add_partitions(TopicState& topic, std::int32_t count, Position position);
  void set_configs(TopicState& topic, ConfigMap configs);
  // The topic, taken out; empty when there is none.
  Topics::node_type remove(const TopicId& id);

  [[nodiscard]] const CowMap<TopicId, std::shared_ptr<const TopicImage>>& by_id() const {
    return by_id_;
  }
  [[nodiscard]] std::size_t partition_count() const { return partition_count_; }
  // The topics as an image shows them.
  void show_in(ClusterImage& image) const;

 private:
  void replace(TopicState& topic, TopicImage image);

  Topics topics_;
  CowMap<std::string, std::shared_ptr<const TopicImage>> by_name_;
  CowMap<TopicId, std::shared_ptr<const TopicImage>> by_id_;
  std::unordered_map<std::string, TopicId> canonical_;  // names with '.' as '_'
  std::size_t partition_count_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace weir::metadata
