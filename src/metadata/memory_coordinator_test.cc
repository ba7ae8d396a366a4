#include "metadata/memory_coordinator.h"

#include "metadata/state/test_log.h"
#include "runtime/test_loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace weir::metadata {
namespace {

using kafka::KafkaError;

struct Recorder final : CommitListener {
  void on_partitions_advanced(std::span<const TopicPartition> advanced) override {
    partitions.insert(partitions.end(), advanced.begin(), advanced.end());
  }
  void on_image_changed() override { ++images; }
  void on_groups_changed(std::span<const std::string> changed) override {
    groups.insert(groups.end(), changed.begin(), changed.end());
  }
  std::vector<TopicPartition> partitions;
  int images = 0;
  std::vector<std::string> groups;
};

class MemoryCoordinatorTest : public testing::Test {
 protected:
  Result<CommandResult> submit(Command command) {
    return run_task(context_, coordinator_.submit(std::move(command)));
  }
  TopicId create(const std::string& name, std::int32_t partitions) {
    CreateTopics command;
    command.topics.push_back({.name = name, .id = topic_id(name), .partitions = partitions});
    EXPECT_EQ(submit(command)->items.at(0).error, KafkaError::kNone);
    return topic_id(name);
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  MemoryCoordinator coordinator_{clock_, context_.get_executor()};
};

TEST_F(MemoryCoordinatorTest, AppliesWhatIsSubmittedAndTellsListeners) {
  Recorder recorder;
  coordinator_.add_listener(recorder);
  TopicId topic = create("orders", 3);
  EXPECT_EQ(recorder.images, 1);
  auto result = submit(ObjectBuilder(1).run(topic, 2).batch(5).run(topic, 0).batch(1));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->batches.at(0).base_offset, 0);
  EXPECT_EQ(recorder.partitions, (std::vector<TopicPartition>{{topic, 2}, {topic, 0}}));
  PartitionView view = coordinator_.image()->topic("orders")->partition(2)->view();
  EXPECT_EQ(view.high_watermark, 5);
  EXPECT_EQ(view.extents.front().object, (ObjectId{coordinator_.broker_epoch(), 1}));
  EXPECT_EQ(coordinator_.image()->brokers.at(1).epoch, coordinator_.broker_epoch());
}

TEST_F(MemoryCoordinatorTest, HeldCommandsAreAppliedInOrder) {
  TopicId topic = create("orders", 1);
  coordinator_.hold();
  std::vector<Offset> bases;
  auto commit = [&](std::int64_t object) -> Task<void> {
    auto result = co_await coordinator_.submit(ObjectBuilder(object).run(topic).batch(2));
    bases.push_back(result->batches.at(0).base_offset);
  };
  for (int i = 0; i < 3; ++i) boost::asio::co_spawn(context_, commit(i), boost::asio::detached);
  context_.restart();
  context_.poll();
  EXPECT_TRUE(bases.empty());
  coordinator_.release();
  context_.restart();
  context_.poll();
  EXPECT_EQ(bases, (std::vector<Offset>{0, 2, 4}));
}

TEST_F(MemoryCoordinatorTest, AFailureChangesNothing) {
  create("orders", 1);
  Position before = coordinator_.applied();
  coordinator_.set_failure(Error{ErrorCode::kUnavailable, "the log is down"});
  EXPECT_EQ(submit(Heartbeat{}).error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(run_task(context_, coordinator_.catch_up()));
  coordinator_.set_failure(std::nullopt);
  EXPECT_EQ(coordinator_.applied(), before);
  EXPECT_TRUE(submit(Heartbeat{}));
}

TEST_F(MemoryCoordinatorTest, AnotherBrokerTakesAGroup) {
  Recorder recorder;
  coordinator_.add_listener(recorder);
  auto claim = submit(GroupClaim{.group = "g"});
  ASSERT_TRUE(claim);
  coordinator_.apply_as(2, GroupClaim{.group = "g"});
  EXPECT_EQ(coordinator_.group("g")->owner, 2);
  EXPECT_EQ(submit(GroupCommit{.group = "g", .claim = claim->value})->error,
            KafkaError::kNotCoordinator);
  EXPECT_EQ(recorder.groups, (std::vector<std::string>{"g", "g"}));
  EXPECT_EQ(coordinator_.group_ids(), std::vector<std::string>{"g"});
}

TEST_F(MemoryCoordinatorTest, ACommandThatCannotBeEncodedIsRefused) {
  EXPECT_EQ(submit(CommitObject{}).error().code, ErrorCode::kInvalid);
}

TEST_F(MemoryCoordinatorTest, AFencedBrokerLearnsIt) {
  coordinator_.apply_as(2, FenceBroker{.broker_id = 1, .epoch = coordinator_.broker_epoch()});
  EXPECT_EQ(submit(Heartbeat{}).error().code, ErrorCode::kFenced);
}

}  // namespace
}  // namespace weir::metadata
