// A write pipeline on fakes, for its tests.
#pragma once
#include "kafka/records/batch_builder.h"
#include "metadata/memory_coordinator.h"
#include "produce/write_pipeline.h"
#include "runtime/test_loop.h"
#include "storage/faulty_store.h"
#include "storage/memory_store.h"
#include "storage/wal_object.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace weir::produce {

inline constexpr TopicId kTopic{7, 7};

inline Slice batch_of(int records, ProducerId producer = kNoProducerId,
                      std::int32_t sequence = -1) {
  kafka::RecordBatchBuilder builder(
      {.producer_id = producer,
       .producer_epoch = static_cast<ProducerEpoch>(producer < 0 ? -1 : 0),
       .base_sequence = sequence});
  for (int i = 0; i < records; ++i) builder.append(1000 + i, std::nullopt, as_bytes("value"));
  return *builder.build();
}

class Remembered final : public WrittenObjects {
 public:
  void on_object_written(const storage::ObjectKey& key, const Chain& bytes) override {
    objects[key] = bytes;
  }
  std::map<storage::ObjectKey, Chain> objects;
};

class WritePipelineTest : public ::testing::Test {
 protected:
  explicit WritePipelineTest(FlushLimits limits = {}) : limits_(limits) {
    coordinator_.apply(
        metadata::CreateTopics{.topics = {{.name = "t", .id = kTopic, .partitions = 4}}});
    pipeline_.emplace(PipelineParts{.coordinator = coordinator_,
                                    .store = store_,
                                    .written = written_,
                                    .clock = clock_,
                                    .executor = context_.get_executor(),
                                    .metrics = metrics_,
                                    .cluster_id = {1, 2}},
                      2, limits_);
    pipeline_->start();
    poll();
  }
  ~WritePipelineTest() override { run_task(context_, pipeline_->drain()); }

  void poll() {
    context_.restart();
    context_.poll();
  }

  // One request with a batch for each (partition, batch).
  std::shared_ptr<PendingWrite> stage(std::vector<std::pair<PartitionIndex, Slice>> batches,
                                      std::size_t lane = 0) {
    auto write = std::make_shared<PendingWrite>(batches.size());
    std::vector<StagedBatch> staged;
    for (auto& [partition, bytes] : batches) {
      staged.push_back({.batch = {.partition = {kTopic, partition},
                                  .bytes = bytes,
                                  .log_append_time = log_append_time_},
                        .write = write,
                        .index = static_cast<std::uint32_t>(staged.size())});
    }
    pipeline_->stage().add(lane, std::move(staged), clock_.now());
    return write;
  }

  // The outcomes so far; those that are not known are REQUEST_TIMED_OUT.
  std::vector<BatchOutcome> outcomes(const std::shared_ptr<PendingWrite>& write) {
    return run_task(context_, write->wait_until(clock_, clock_.now()));
  }

  ManualClock clock_;
  boost::asio::io_context context_;
  metadata::MemoryCoordinator coordinator_{clock_, context_.get_executor()};
  storage::MemoryStore memory_{clock_};
  storage::FaultyStore store_{memory_, clock_};
  Remembered written_;
  MetricsRegistry metrics_;
  FlushLimits limits_;
  bool log_append_time_ = false;  // of what is staged
  std::optional<WritePipeline> pipeline_;
};

// Holds the first PUT back, and has it fail if there is an error; all others pass.
inline std::shared_ptr<storage::StoreGate> hold_first_put(storage::FaultyStore& store,
                                                          std::optional<Error> error = {}) {
  auto gate = std::make_shared<storage::StoreGate>();
  store.set_plan([gate, error, seen = false](const storage::StoreCall& call) mutable {
    storage::StoreFault fault;
    if (call.operation == storage::StoreOperation::kPut && !std::exchange(seen, true))
      fault = {.hold = gate, .error = error};
    return fault;
  });
  return gate;
}

}  // namespace weir::produce
