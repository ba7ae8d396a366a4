#include "metadata/state/topic_table.h"

#include "metadata/state/item_hash.h"

#include <algorithm>

namespace weir::metadata {
namespace {

std::string canonical(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '.', '_');
  return out;
}

std::uint64_t hash_of(const TopicImage& image) {
  ItemWriter item;
  item.number(static_cast<std::int64_t>(image.id.high))
      .number(static_cast<std::int64_t>(image.id.low));
  item.text(image.name).number(image.partition_count()).number(image.replication_factor);
  for (const auto& [name, value] : image.configs) item.text(name).text(value);
  return item.hash(ItemKind::kTopic);
}

}  // namespace

TopicState* TopicTable::find(const TopicId& id) {
  auto found = topics_.find(id);
  return found == topics_.end() ? nullptr : &found->second;
}

TopicState* TopicTable::find(std::string_view name) {
  const auto* image = by_name_.find(name);
  return image == nullptr ? nullptr : find((*image)->id);
}

bool TopicTable::collides(std::string_view name) const {
  return canonical_.contains(canonical(name));
}

TopicState& TopicTable::add(TopicImage image) {
  TopicState& topic = topics_[image.id];
  canonical_[canonical(image.name)] = image.id;
  replace(topic, std::move(image));
  return topic;
}

void TopicTable::replace(TopicState& topic, TopicImage image) {
  if (topic.image != nullptr) hash_ -= hash_of(*topic.image);
  hash_ += hash_of(image);
  topic.image = std::make_shared<const TopicImage>(std::move(image));
  by_name_.at_for_write(topic.image->name) = topic.image;
  by_id_.at_for_write(topic.image->id) = topic.image;
}

void TopicTable::add_partitions(TopicState& topic, std::int32_t count, Position position) {
  TopicImage image = *topic.image;
  for (std::int32_t i = 0; i < count; ++i) {
    PartitionState& partition =
        topic.partitions.emplace_back(TopicPartition{image.id, image.partition_count()});
    partition.touch(position);
    image.partitions.push_back(partition.cell());
  }
  partition_count_ += static_cast<std::size_t>(count);
  replace(topic, std::move(image));
}

void TopicTable::set_configs(TopicState& topic, ConfigMap configs) {
  TopicImage image = *topic.image;
  image.configs = std::move(configs);
  replace(topic, std::move(image));
}

TopicTable::Topics::node_type TopicTable::remove(const TopicId& id) {
  Topics::node_type topic = topics_.extract(id);
  if (topic.empty()) return topic;
  const TopicImage& image = *topic.mapped().image;
  hash_ -= hash_of(image);
  partition_count_ -= topic.mapped().partitions.size();
  canonical_.erase(canonical(image.name));
  by_name_.erase(image.name);
  by_id_.erase(id);
  return topic;
}

void TopicTable::show_in(ClusterImage& image) const {
  image.topics_by_name = by_name_;
  image.topics_by_id = by_id_;
}

}  // namespace weir::metadata
