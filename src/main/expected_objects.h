// The objects that a state refers to, each with the extents that lie in it. A value.
#pragma once
#include "metadata/state/state.h"

#include <map>
#include <string>
#include <vector>

namespace weir {

struct PlacedExtent {
  TopicPartition partition;
  metadata::Extent extent;
  bool operator==(const PlacedExtent&) const = default;
};

struct ExpectedObject {
  ByteCount size = 0;
  std::size_t counted = 0;  // extents, by the state's own count
  std::vector<PlacedExtent> extents;
};

struct ExpectedObjects {
  Uuid cluster;
  std::map<metadata::ObjectId, ExpectedObject> objects;
  std::map<TopicId, std::string> topics;  // their names

  // Such as "orders-3 offsets 100 to 149, orders-4 offset 7". The topics must be known.
  [[nodiscard]] std::string name_of(const std::vector<PlacedExtent>& extents) const;
};

[[nodiscard]] ExpectedObjects expected_objects(const metadata::State& state);

}  // namespace weir
