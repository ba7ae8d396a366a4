// When a log that fails is down, and who notices that it is there again.
#include "metadata/coordinator_harness.h"
#include "metadata/log/forwarding_log.h"
#include "metadata/state/test_log.h"

namespace weir::metadata {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Looking at it costs money.
class CostlyLog final : public ForwardingLog {
 public:
  using ForwardingLog::ForwardingLog;
  [[nodiscard]] Duration look_interval() const override { return minutes(1); }
};

class OutageTest : public CoordinatorHarness {
 protected:
  OutageTest() {
    LogCoordinatorOptions options{.broker_id = 1};
    options.endpoints = {{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}};
    coordinator_ =
        std::make_unique<LogCoordinator>(costly_, nullptr, clock_, Rng(1), context_.get_executor(),
                                         context_.get_executor(), options);
    coordinator_->start();
    EXPECT_TRUE(run(coordinator_->wait_registered()));
  }
  ~OutageTest() override { run(coordinator_->stop()); }

  Cable* cable_ = new Cable(log_);
  CostlyLog costly_{std::unique_ptr<MetadataLog>(cable_)};
  std::unique_ptr<LogCoordinator> coordinator_;
};

// A full disk of a database server, a quota of a store: it can be read all the time.
TEST_F(OutageTest, ALogThatTakesNoAppendsIsDownAlthoughItIsRead) {
  for (std::size_t nth = 1; nth <= 1000; ++nth)
    log_.fail_append(nth, MemoryLog::Effect::kNone, ErrorCode::kExhausted);
  auto first = begin(coordinator_->submit(AllocateProducerIds{}));
  const int before = cable_->appends;
  for (int i = 0; i < 10; ++i) {
    run_for(seconds(1));
    EXPECT_TRUE(run(coordinator_->catch_up()));
    EXPECT_FALSE(coordinator_->status());
  }
  EXPECT_FALSE(first.done());
  ASSERT_TRUE(coordinator_->refusal());
  EXPECT_TRUE(coordinator_->refusal()->message.contains("planned fault"));
  EXPECT_EQ(run(coordinator_->submit(Heartbeat{})).error().code, ErrorCode::kUnavailable);
  EXPECT_LT(cable_->appends - before, 30);
  EXPECT_GT(cable_->appends - before, 8);
}

TEST_F(OutageTest, ItsEndIsNoticedThoughNothingWaitsForIt) {
  cable_->cut(true);
  EXPECT_FALSE(run(coordinator_->catch_up()));
  EXPECT_FALSE(coordinator_->refusal());  // for a while it may pass
  run_for(seconds(6));
  EXPECT_EQ(coordinator_->refusal().value().code, ErrorCode::kUnavailable);
  cable_->cut(false);
  run_for(seconds(3));
  EXPECT_FALSE(coordinator_->refusal());
  EXPECT_TRUE(coordinator_->status());
}

}  // namespace
}  // namespace weir::metadata
