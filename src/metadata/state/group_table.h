// The consumer groups with their committed offsets. The coordinator's thread alone uses it; what it
// stores are the immutable images that readers see.
#pragma once
#include "metadata/state/cow_map.h"
#include "metadata/state/image.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::metadata {

class GroupTable {
 public:
  using Groups = CowMap<std::string, std::shared_ptr<const GroupImage>>;

  [[nodiscard]] const Groups& groups() const { return groups_; }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  // Null when unknown.
  [[nodiscard]] std::shared_ptr<const GroupImage> find(const std::string& id) const;

  // Changes are made on a copy of an image, which then takes the place of the one before (or is
  // new).
  enum class Changed { kOffsetsOnly, kAll };
  void put(GroupImage group, Changed changed);
  void set_offset(GroupImage& copy, const TopicPartition& partition, CommittedOffset offset);
  // False: there is none.
  bool erase_offset(GroupImage& copy, const TopicPartition& partition);
  // With its offsets.
  void erase(const std::string& id);
  // Forgets the offsets of a topic in all groups; the ids of those that had some.
  std::vector<std::string> erase_topic(const TopicId& topic);

 private:
  Groups groups_;
  std::uint64_t hash_ = 0;
};

}  // namespace weir::metadata
