// When a log that fails is down, and who notices that it is there again.
#include "metadata/coordinator_harness.h"
#include "metadata/log/forwarding_log.h"
#include "metadata/state/test_log.h"

namespace weir::metadata {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Looking at it costs money. It may show no entries for a while, though they are there.
class CostlyLog final : public ForwardingLog {
 public:
  using ForwardingLog::ForwardingLog;
  [[nodiscard]] Duration look_interval() const override { return minutes(1); }
  Task<Result<std::vector<LogEntry>>> read(Position after, ByteCount limit) override {
    if (is_blind) co_return std::vector<LogEntry>();
    co_return co_await below().read(after, limit);
  }
  [[nodiscard]] std::uint64_t incarnation() const override { return connections; }

  bool is_blind = false;
  std::uint64_t connections = 0;
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

// The broker knows that they are there, and the end of the log says so, too.
TEST_F(OutageTest, AReadThatFindsNothingIsNoLostHistory) {
  costly_.is_blind = true;
  ++costly_.connections;
  auto looked = run(coordinator_->catch_up());
  ASSERT_FALSE(looked);
  EXPECT_EQ(looked.error().code, ErrorCode::kUnavailable) << looked.error().to_string();
  EXPECT_TRUE(looked.error().message.contains("shows nothing after"));
  // The entries of another broker, which tail() announces.
  LogCoordinatorOptions options{.broker_id = 2};
  LogCoordinator other(log_, nullptr, clock_, Rng(2), context_.get_executor(),
                       context_.get_executor(), options);
  other.start();
  ASSERT_TRUE(run(other.wait_registered()));
  looked = run(coordinator_->catch_up());
  ASSERT_FALSE(looked);
  EXPECT_EQ(looked.error().code, ErrorCode::kUnavailable) << looked.error().to_string();
  costly_.is_blind = false;
  EXPECT_TRUE(run(coordinator_->catch_up()));
  EXPECT_EQ(coordinator_->applied(), other.applied());
  // Where nothing was in doubt.
  ASSERT_TRUE(run(other.submit(AllocateProducerIds{})));
  costly_.is_blind = true;
  EXPECT_EQ(run(coordinator_->catch_up()).error().code, ErrorCode::kUnavailable);
  costly_.is_blind = false;
  EXPECT_TRUE(run(coordinator_->submit(AllocateProducerIds{})));
  run(other.stop());
}

}  // namespace
}  // namespace weir::metadata
