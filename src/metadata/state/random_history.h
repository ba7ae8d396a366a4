// For tests: a random, seeded history of commands, as clients, brokers and their mistakes could
// make it.
#pragma once
#include "metadata/state/test_log.h"
#include "runtime/rng.h"

#include <string>
#include <vector>

namespace weir::metadata {

class RandomHistory {
 public:
  explicit RandomHistory(std::uint64_t seed) : rng_(seed) {}

  // The commands of the next record. `log` tells what exists.
  std::vector<Command> next(TestLog& log, BrokerId broker);
  // Moves time on, and sometimes back.
  void move_time(TestLog& log);

  Rng& rng() { return rng_; }

 private:
  struct Sent {
    TopicId topic;
    PartitionIndex partition;
    ObjectBatch batch;
  };

  Command commit(TestLog& log, BrokerId broker);
  void add_batch(ObjectBuilder& builder, const TopicId& topic, PartitionIndex partition);
  Command any_topic_command(TestLog& log);
  Command any_group_command(TestLog& log);
  Command trim(TestLog& log);
  Command forget(TestLog& log);
  NewTopic new_topic();
  TopicId some_topic(TestLog& log);
  std::string some_group() { return "group-" + std::to_string(rng_.below(4)); }
  bool one_in(std::uint64_t n) { return rng_.below(n) == 0; }
  std::int32_t below(std::uint64_t n) { return static_cast<std::int32_t>(rng_.below(n)); }

  Rng rng_;
  bool is_far_ahead_ = false;
  std::int64_t next_object_ = 0;
  std::uint64_t next_topic_ = 1;
  std::vector<TopicId> topics_;  // all that ever were
  std::vector<Sent> sent_;
  std::map<std::pair<TopicPartition, ProducerId>, std::pair<ProducerEpoch, std::int32_t>>
      producers_;
};

}  // namespace weir::metadata
