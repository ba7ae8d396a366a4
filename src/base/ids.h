// The identifiers that cross module borders.
#pragma once
#include "base/uuid.h"

#include <compare>
#include <cstdint>
#include <functional>

namespace weir {

using TopicId = Uuid;
using PartitionIndex = std::int32_t;
using BrokerId = std::int32_t;  // Kafka's node.id
using BrokerEpoch =
    std::int64_t;  // grows with every registration in the metadata log; -1: not registered
using ProducerId = std::int64_t;     // -1: none
using ProducerEpoch = std::int16_t;  // -1: none
using LeaderEpoch = std::int32_t;

constexpr ProducerId kNoProducerId = -1;
constexpr ProducerEpoch kNoProducerEpoch = -1;

struct TopicPartition {
  TopicId topic;
  PartitionIndex partition = 0;
  auto operator<=>(const TopicPartition&) const = default;
};

}  // namespace weir

template <>
struct std::hash<weir::TopicPartition> {
  std::size_t operator()(const weir::TopicPartition& tp) const noexcept {
    return std::hash<weir::Uuid>{}(tp.topic) * 31 + static_cast<std::size_t>(tp.partition);
  }
};
