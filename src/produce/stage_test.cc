#include "produce/stage.h"

#include <gtest/gtest.h>

namespace weir::produce {
namespace {

using std::chrono::milliseconds;

constexpr MonoTime kStart{};

std::vector<StagedBatch> batches(std::initializer_list<std::pair<PartitionIndex, std::size_t>> of) {
  std::vector<StagedBatch> out;
  for (auto [partition, size] : of) {
    StagedBatch& batch = out.emplace_back();
    batch.batch.partition.partition = partition;
    batch.batch.bytes = Slice::of(std::vector<std::byte>(size));
  }
  return out;
}

std::vector<PartitionIndex> partitions(const std::vector<StagedBatch>& staged) {
  std::vector<PartitionIndex> out;
  for (const StagedBatch& batch : staged) out.push_back(batch.batch.partition.partition);
  return out;
}

TEST(Stage, KeepsTheOrderOfALaneAndTakesTurns) {
  Stage stage(2, 1000, [] {});
  stage.add(0, batches({{1, 10}, {2, 10}}), kStart + milliseconds(2));
  stage.add(1, batches({{11, 10}, {12, 10}}), kStart + milliseconds(1));
  stage.add(0, batches({{3, 10}}), kStart + milliseconds(3));
  EXPECT_EQ(stage.bytes(), 50U);
  EXPECT_EQ(stage.oldest(), kStart + milliseconds(1));
  // At least one batch, and no more once the limit is reached.
  EXPECT_EQ(partitions(stage.drain(1)), std::vector<PartitionIndex>{1});
  EXPECT_EQ(partitions(stage.drain(15)), (std::vector<PartitionIndex>{11, 12}));
  EXPECT_EQ(stage.oldest(), kStart + milliseconds(2));
  EXPECT_EQ(partitions(stage.drain(1000)), (std::vector<PartitionIndex>{2, 3}));
  EXPECT_EQ(stage.bytes(), 0U);
  EXPECT_EQ(stage.oldest(), std::nullopt);
  EXPECT_TRUE(stage.drain(1000).empty());
}

TEST(Stage, TellsOfTheFirstBatchAndOfAFullBuffer) {
  int told = 0;
  Stage stage(2, 100, [&] { ++told; });
  stage.add(0, {}, kStart);
  EXPECT_EQ(told, 0);
  stage.add(0, batches({{0, 10}}), kStart);
  EXPECT_EQ(told, 1);
  stage.add(1, batches({{0, 80}}), kStart);
  EXPECT_EQ(told, 1);
  stage.add(1, batches({{0, 10}}), kStart);
  EXPECT_EQ(told, 2);
  stage.add(1, batches({{0, 10}}), kStart);
  EXPECT_EQ(told, 2);
  static_cast<void>(stage.drain(1000));
  stage.add(1, batches({{0, 10}}), kStart);
  EXPECT_EQ(told, 3);
}

TEST(Stage, ASmallPartOfARequestIsCopiedOutOfIt) {
  Slice request = Slice::of(std::vector<std::byte>(1000));
  auto staged = [&](std::initializer_list<std::size_t> sizes) {
    std::vector<StagedBatch> out;
    for (std::size_t size : sizes) out.emplace_back().batch.bytes = request.sub(100, size);
    return out;
  };
  // At least half of it: that much more memory is kept, and no copy made.
  std::vector<StagedBatch> most = staged({300, 200});
  detach_small_part(most, request);
  EXPECT_EQ(most[0].batch.bytes.owner(), request.owner());
  std::vector<StagedBatch> few = staged({300, 199});
  Slice rewritten = Slice::of(std::vector<std::byte>(400));
  few.emplace_back().batch.bytes = rewritten;
  detach_small_part(few, request);
  for (std::size_t i : {0, 1}) {
    EXPECT_NE(few[i].batch.bytes.owner(), request.owner());
    EXPECT_EQ(as_text(few[i].batch.bytes.bytes()),
              as_text(request.sub(100, few[i].batch.bytes.size()).bytes()));
  }
  // Not the request's memory.
  EXPECT_EQ(few[2].batch.bytes.data(), rewritten.data());
}

}  // namespace
}  // namespace weir::produce
