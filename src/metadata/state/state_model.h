// For tests: what commits, trims and producers should do, written as plainly as possible and
// without the state's containers.
#pragma once
#include "metadata/state/commands.h"
#include "metadata/state/partition_cell.h"

#include <deque>
#include <map>
#include <set>
#include <vector>

namespace weir::metadata {

class StateModel {
 public:
  struct Batch {
    std::int64_t first_sequence;
    std::int64_t last_sequence;
    Offset base;
    TimestampMs append_time;
  };
  struct Producer {
    ProducerEpoch epoch = -1;
    std::deque<Batch> batches;
    TimestampMs last_time = 0;
  };
  struct Run {  // of accepted batches that lie together
    Offset base;
    Offset last;
    ObjectId object;
    std::uint32_t byte_offset;
    std::uint32_t bytes;
    TimestampMs max_timestamp;
    bool stamped;
  };
  struct Partition {
    Offset start = 0;
    Offset end = 0;
    std::vector<Run> runs;
    std::map<ProducerId, Producer> producers;
  };

  std::vector<BatchResult> commit(const CommitObject& command, TimestampMs now);
  ItemResult trim(const LogTrim& trim);
  void expire(TimestampMs now, std::int64_t expiration);
  // How many runs lie in each object.
  [[nodiscard]] std::map<ObjectId, std::uint32_t> references() const;

  // How many batches were ever accepted.
  [[nodiscard]] std::size_t batches() const { return batches_; }

  std::map<TopicPartition, Partition> partitions;
  std::set<ObjectId> objects;  // committed and not forgotten

 private:
  BatchResult judge(Partition& partition, const ObjectBatch& batch, TimestampMs now);

  std::size_t batches_ = 0;
};

}  // namespace weir::metadata
