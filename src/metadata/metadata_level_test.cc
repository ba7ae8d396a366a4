// Brokers of two releases in one cluster: what is written waits for the older ones.
#include "metadata/coordinator_harness.h"
#include "metadata/log_coordinator.h"

#include <tuple>

namespace weir::metadata {
namespace {

using kafka::KafkaError;
using std::chrono::seconds;

constexpr std::int16_t kNext = kMetadataLevel + 1;

class MetadataLevelTest : public CoordinatorHarness {
 protected:
  ~MetadataLevelTest() override {
    for (auto& [id, coordinator] : coordinators_) run(coordinator->stop());
  }
  // A broker that knows that level, in the place of one with its id.
  LogCoordinator& start(BrokerId id, std::int16_t level) {
    stop(id);
    LogCoordinatorOptions options{.broker_id = id, .metadata_level = level};
    options.endpoints = {{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}};
    auto& made = coordinators_[id];
    made =
        std::make_unique<LogCoordinator>(log_, nullptr, clock_, Rng(++seed_),
                                         context_.get_executor(), context_.get_executor(), options);
    made->start();
    std::ignore = run(made->wait_registered());
    return *made;
  }
  void stop(BrokerId id) {
    if (auto found = coordinators_.extract(id)) run(found.mapped()->stop());
  }
  static std::int16_t level(LogCoordinator& coordinator) {
    const auto image = coordinator.image();
    const auto found = image->features.find(std::string(kMetadataFeature));
    return found == image->features.end() ? std::int16_t{-1} : found->second;
  }

 private:
  std::map<BrokerId, std::unique_ptr<LogCoordinator>> coordinators_;
  std::uint64_t seed_ = 0;
};

TEST_F(MetadataLevelTest, WhoCreatesTheClusterSetsWhatItKnows) {
  EXPECT_EQ(level(start(1, kNext)), kNext);
}

TEST_F(MetadataLevelTest, RisesWhenTheLastBrokerWasReplaced) {
  start(1, kMetadataLevel);
  LogCoordinator& other = start(2, kMetadataLevel);
  start(1, kNext);
  run_for(seconds(10));
  EXPECT_EQ(level(other), kMetadataLevel);
  EXPECT_EQ(
      run(other.submit(SetFeatureLevel{.feature = std::string(kMetadataFeature), .level = kNext}))
          ->error,
      KafkaError::kFeatureUpdateFailed);
  LogCoordinator& newer = start(2, kNext);
  run_until([&] { return level(newer) == kNext; });
}

TEST_F(MetadataLevelTest, RisesWhenTheLastOlderBrokerIsGone) {
  start(1, kMetadataLevel);
  LogCoordinator& newer = start(2, kNext);
  run_for(seconds(10));
  EXPECT_EQ(level(newer), kMetadataLevel);
  stop(1);
  run_until([&] { return level(newer) == kNext; });
}

TEST_F(MetadataLevelTest, WhoKnowsLessIsRefusedAndSaysWhy) {
  start(1, kNext);
  LogCoordinator& older = start(2, kMetadataLevel);
  ASSERT_FALSE(older.status());
  EXPECT_EQ(older.status().error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(older.status().error().message.contains("run a newer one"))
      << older.status().error().message;
}

}  // namespace
}  // namespace weir::metadata
