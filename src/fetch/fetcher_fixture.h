// What tests of the fetcher share: a state with a topic of three partitions, and objects in memory.
#pragma once
#include "fetch/fetcher.h"
#include "kafka/records/batch_builder.h"
#include "kafka/records/record_batch.h"
#include "metadata/memory_coordinator.h"
#include "runtime/test_loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace weir::fetch {
using kafka::KafkaError;
using std::chrono::milliseconds;

inline constexpr TopicId kTopic{7, 7};

// Keeps the bytes of each extent as they were committed; fails or damages those that a test names.
class FakeReader final : public ObjectReader {
 public:
  Task<Result<Chain>> read(metadata::Extent extent) override {
    ++reads;
    if (clock != nullptr) clock->advance(read_time);
    if (missing.contains(extent.object.sequence))
      co_return fail(ErrorCode::kNotFound, "no such object");
    Slice object = objects.at(extent.object.sequence).flatten();
    Slice bytes =
        object.sub(extent.byte_offset,
                   std::min<std::size_t>(extent.byte_length, object.size() - extent.byte_offset));
    if (!damaged.contains(extent.object.sequence)) co_return Chain(bytes);
    std::vector<std::byte> copy(bytes.bytes().begin(), bytes.bytes().end());
    copy.back() ^= std::byte{1};
    co_return Chain(Slice::of(std::move(copy)));
  }

  void forget(const metadata::Extent& extent) override { forgotten.insert(extent.object.sequence); }

  std::map<std::int64_t, Chain> objects;
  std::set<std::int64_t> missing;
  std::set<std::int64_t> damaged;
  std::set<std::int64_t> forgotten;
  int reads = 0;
  // Each read takes so long, where there is a clock.
  ManualClock* clock = nullptr;
  Duration read_time{};
};

class FetcherTest : public ::testing::Test {
 protected:
  FetcherTest() {
    coordinator_.add_listener(waiters_);
    coordinator_.apply(
        metadata::CreateTopics{.topics = {{.name = "t", .id = kTopic, .partitions = 3}}});
  }
  ~FetcherTest() override {
    fetcher_.stop_waiting();
    context_.restart();
    context_.poll();
  }

  static Slice batch_of(std::vector<TimestampMs> timestamps, std::size_t value_size = 10) {
    kafka::RecordBatchBuilder builder({});
    std::string value(value_size, 'v');
    for (TimestampMs timestamp : timestamps)
      builder.append(timestamp, std::nullopt, as_bytes(value));
    return *builder.build();
  }

  // One object with these batches of one partition.
  std::int64_t commit(PartitionIndex partition, const std::vector<Slice>& batches) {
    std::int64_t sequence = ++sequence_;
    metadata::CommitObject command{
        .object = {.epoch = coordinator_.broker_epoch(), .sequence = sequence},
        .runs = {{.topic = kTopic,
                  .partition = partition,
                  .batch_count = static_cast<std::uint32_t>(batches.size())}}};
    for (const Slice& batch : batches) {
      kafka::RecordBatchView view(batch.bytes());
      command.batches.push_back({.length = static_cast<std::uint32_t>(batch.size()),
                                 .last_offset_delta = view.last_offset_delta(),
                                 .max_timestamp = view.max_timestamp(),
                                 .log_append_time = log_append_time_});
      reader_.objects[sequence].append(batch);
    }
    command.object_size = static_cast<std::uint32_t>(reader_.objects[sequence].size());
    auto result = coordinator_.apply(command);
    EXPECT_EQ(result.error, KafkaError::kNone);
    return sequence;
  }

  static PartitionFetch at(Offset offset, PartitionIndex partition = 0,
                           std::int32_t max_bytes = 1 << 20) {
    return {.by_id = true,
            .topic_id = kTopic,
            .partition = partition,
            .fetch_offset = offset,
            .max_bytes = max_bytes};
  }

  std::vector<PartitionData> fetch(std::vector<PartitionFetch> partitions,
                                   FetchOptions options = {.max_bytes = 1 << 20}) {
    return run_task(context_, fetcher_.fetch(std::move(partitions), options));
  }

  // Base offsets of the batches in an answer; each must be whole.
  static std::vector<Offset> bases(const PartitionData& data) {
    std::vector<Offset> out;
    Slice all = data.records.flatten();
    kafka::BatchRun run(all.bytes());
    while (auto batch = run.next()) {
      EXPECT_TRUE(batch->crc_matches());
      out.push_back(batch->base_offset());
    }
    EXPECT_TRUE(run.status());
    return out;
  }

  // Starts a fetch that may wait; the answer arrives in the returned place.
  std::shared_ptr<std::optional<std::vector<PartitionData>>> start(
      std::vector<PartitionFetch> partitions, FetchOptions options) {
    auto place = std::make_shared<std::optional<std::vector<PartitionData>>>();
    boost::asio::co_spawn(context_, fetcher_.fetch(std::move(partitions), options),
                          [place](const std::exception_ptr&, std::vector<PartitionData> data) {
                            *place = std::move(data);
                          });
    poll();
    return place;
  }
  void poll() {
    context_.restart();
    context_.poll();
  }

  ManualClock clock_;
  boost::asio::io_context context_;
  metadata::MemoryCoordinator coordinator_{clock_, context_.get_executor()};
  FakeReader reader_;
  Waiters waiters_{1};
  MetricsRegistry metrics_;
  ByteBudget memory_{1_MiB};
  Fetcher fetcher_{coordinator_, reader_, waiters_, memory_, clock_, metrics_};
  std::int64_t sequence_ = 0;
  bool log_append_time_ = false;  // of what is committed
};

}  // namespace weir::fetch
