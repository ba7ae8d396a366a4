// What readers on any thread see of the state, beside the cells of the partitions. Written by the
// coordinator's thread.
#pragma once
#include "metadata/state/image.h"
#include "runtime/published.h"

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir::metadata {

class PublishedState {
 public:
  PublishedState() : image_(std::make_shared<const ClusterImage>()) {}

  [[nodiscard]] std::shared_ptr<const ClusterImage> image() const { return image_.get(); }
  [[nodiscard]] std::shared_ptr<const GroupImage> group(const std::string& id) const;
  [[nodiscard]] std::vector<std::string> group_ids() const;

  void set_image(std::shared_ptr<const ClusterImage> image) { image_.set(std::move(image)); }
  // Null removes it.
  void set_group(const std::string& id, std::shared_ptr<const GroupImage> group);
  void clear_groups();

 private:
  static constexpr std::size_t kShards = 32;
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, std::shared_ptr<const GroupImage>> groups;
  };
  [[nodiscard]] std::size_t shard_of(const std::string& id) const {
    return std::hash<std::string>{}(id) % kShards;
  }

  Published<ClusterImage> image_;
  std::array<Shard, kShards> shards_;
};

}  // namespace weir::metadata
