// What it costs to read and write the messages of the hot paths, with 100 partitions each.
#include "kafka/protocol/frame.h"
#include "kafka/protocol/messages/fetch.h"
#include "kafka/protocol/messages/produce.h"

#include <benchmark/benchmark.h>

namespace weir::kafka {
namespace {

constexpr int kTopics = 10;
constexpr int kPartitions = 10;

ProduceRequest produce_request() {
  ProduceRequest request;
  request.acks = -1;
  Slice records = Slice::copy_of(std::string(1000, 'r'));
  for (int t = 0; t < kTopics; ++t) {
    auto& topic = request.topic_data.emplace_back();
    topic.name = "a-topic-name";
    for (int p = 0; p < kPartitions; ++p) {
      topic.partition_data.push_back({.index = p, .records = records});
    }
  }
  return request;
}

FetchRequest fetch_request() {
  FetchRequest request;
  for (int t = 0; t < kTopics; ++t) {
    auto& topic = request.topics.emplace_back();
    topic.topic = "a-topic-name";
    for (int p = 0; p < kPartitions; ++p) {
      topic.partitions.push_back(
          {.partition = p, .fetch_offset = 1000, .partition_max_bytes = 1 << 20});
    }
  }
  return request;
}

FetchResponse fetch_response() {
  FetchResponse response;
  Slice head = Slice::copy_of(std::string(16, 'h'));
  Slice batch = Slice::copy_of(std::string(1000, 'b'));
  for (int t = 0; t < kTopics; ++t) {
    auto& topic = response.responses.emplace_back();
    topic.topic = "a-topic-name";
    for (int p = 0; p < kPartitions; ++p) {
      FetchResponse::Partition partition{.partition_index = p, .high_watermark = 5000};
      partition.records.emplace(head);
      partition.records->append(batch);
      topic.partitions.push_back(std::move(partition));
    }
  }
  return response;
}

template <typename M>
void decode_message(benchmark::State& state, const M& message, std::int16_t version) {
  Slice bytes = encode(message, version)->flatten();
  for (auto _ : state) benchmark::DoNotOptimize(decode<M>(bytes, version));
}

void decode_produce(benchmark::State& state) { decode_message(state, produce_request(), 9); }
void decode_fetch_v4(benchmark::State& state) { decode_message(state, fetch_request(), 4); }
void decode_fetch_v12(benchmark::State& state) { decode_message(state, fetch_request(), 12); }
BENCHMARK(decode_produce);
BENCHMARK(decode_fetch_v4);
BENCHMARK(decode_fetch_v12);

void frame_fetch_response(benchmark::State& state) {
  FetchResponse response = fetch_response();
  for (auto _ : state) benchmark::DoNotOptimize(response_frame(1, response, 12));
}
BENCHMARK(frame_fetch_response);

}  // namespace
}  // namespace weir::kafka
