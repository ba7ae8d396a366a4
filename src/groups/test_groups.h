// For tests: a group coordinator of one broker on a log in memory, whose clock the test turns.
#pragma once
#include "base/byte_writer.h"
#include "groups/group_coordinator.h"
#include "metadata/memory_coordinator.h"
#include "runtime/test_loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace weir::groups {

using kafka::JoinGroupRequest;
using kafka::JoinGroupResponse;
using kafka::KafkaError;
using kafka::SyncGroupRequest;
using kafka::SyncGroupResponse;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr TopicId kTopic{7, 7};

// A consumer's subscription to one topic, version 1.
inline std::string subscription(std::string_view topic) {
  ByteWriter out;
  out.i16(1);
  out.i32(1);
  out.i16(static_cast<std::int16_t>(topic.size()));
  out.text(topic);
  out.i32(-1);  // user data
  out.i32(0);   // owned partitions
  return std::string(as_text(out.view()));
}

struct Who {
  std::string member_id;
  std::optional<std::string_view> instance_id;
  std::string_view metadata = "m";
  std::int32_t session_ms = 10'000;
  std::int32_t rebalance_ms = 60'000;
  std::int16_t version = 9;
  std::string_view protocol = "range";
  std::size_t protocol_count = 1;
  std::string_view group = "g";
  std::string_view protocol_type = "consumer";
  std::string_view client_id = "client";
  std::shared_ptr<const void> reservation;
};

template <typename T>
using Later = std::shared_ptr<std::optional<T>>;

class GroupsTest : public ::testing::Test {
 protected:
  GroupsTest() {
    log_.add_listener(listener_);
    log_.apply(metadata::CreateTopics{.topics = {{.name = "t", .id = kTopic, .partitions = 2}}});
    restart();
  }
  ~GroupsTest() override { stop(); }

  // As a broker that starts anew on the same log.
  void restart() {
    if (groups_) stop();
    groups_ = std::make_unique<GroupCoordinator>(log_, 1, clock_, context_.get_executor(), limits_,
                                                 Rng(++seed_));
    listener_.groups = groups_.get();
    EXPECT_TRUE(run_task(context_, groups_->start()));
  }
  void stop() {
    bool is_stopped = false;
    boost::asio::co_spawn(context_, groups_->stop(),
                          [&](const std::exception_ptr&) { is_stopped = true; });
    poll();
    EXPECT_TRUE(is_stopped);
  }

  void poll() {
    context_.restart();
    context_.poll();
  }
  // In steps, so that a timer that sets the next one does so in its own time.
  void advance(Duration by) {
    for (Duration step = milliseconds(100); by > Duration::zero(); by -= step) {
      clock_.advance(std::min(step, by));
      poll();
    }
  }

  template <typename T>
  Later<T> start_task(Task<T> task) {
    auto later = std::make_shared<std::optional<T>>();
    boost::asio::co_spawn(context_, std::move(task),
                          [later](const std::exception_ptr& error, T value) {
                            if (error) std::rethrow_exception(error);
                            *later = std::move(value);
                          });
    poll();
    return later;
  }

  Later<JoinGroupResponse> join(Who who) {
    // The views of a request live as long as its frame: here, as long as the test.
    who_.push_back(std::make_unique<Who>(std::move(who)));
    const Who& kept = *who_.back();
    auto request = std::make_unique<JoinGroupRequest>();
    request->group_id = kept.group;
    request->session_timeout_ms = kept.session_ms;
    request->rebalance_timeout_ms = kept.rebalance_ms;
    request->member_id = kept.member_id;
    request->group_instance_id = kept.instance_id;
    request->protocol_type = kept.protocol_type;
    request->protocols.assign(kept.protocol_count,
                              {.name = kept.protocol, .metadata = as_bytes(kept.metadata)});
    joins_.push_back(std::move(request));
    return start_task(groups_->join({.client_id = std::string(kept.client_id),
                                     .host = "/127.0.0.1",
                                     .reservation = kept.reservation},
                                    *joins_.back(), kept.version));
  }

  // A dynamic member's two joins; the second waits for the rebalance.
  struct Joined {
    std::string id;
    Later<JoinGroupResponse> answer;
  };
  Joined join_new(Who who = {}) {
    auto first = join(who);
    EXPECT_EQ((*first)->error_code, KafkaError::kMemberIdRequired);
    who.member_id = (*first)->member_id;
    return {.id = who.member_id, .answer = join(who)};
  }

  Later<SyncGroupResponse> sync(const std::string& member, std::int32_t generation,
                                std::map<std::string, std::string> assignments = {}) {
    auto request = std::make_unique<SyncGroupRequest>();
    texts_.push_back(member);
    request->group_id = "g";
    request->generation_id = generation;
    request->member_id = texts_.back();
    for (auto& [id, assignment] : assignments) {
      texts_.push_back(id);
      std::string_view kept_id = texts_.back();
      texts_.push_back(assignment);
      request->assignments.push_back({.member_id = kept_id, .assignment = as_bytes(texts_.back())});
    }
    syncs_.push_back(std::move(request));
    return start_task(groups_->sync(*syncs_.back(), nullptr));
  }

  KafkaError heartbeat(const std::string& member, std::int32_t generation) {
    kafka::HeartbeatRequest request;
    request.group_id = "g";
    request.member_id = member;
    request.generation_id = generation;
    return run_task(context_, groups_->heartbeat(request)).error_code;
  }

  KafkaError leave(const std::string& member) {
    kafka::LeaveGroupRequest request;
    request.group_id = "g";
    request.members.push_back({.member_id = member});
    return run_task(context_, groups_->leave(request, 5)).members.front().error_code;
  }

  std::string state() {
    kafka::DescribeGroupsRequest request;
    request.groups.push_back("g");
    return run_task(context_, groups_->describe(request, 6)).groups.front().group_state;
  }

  PendingCommit start_commit(const std::string& member, std::int32_t generation, Offset offset,
                             std::string_view metadata = "note") {
    kafka::OffsetCommitRequest request;
    request.group_id = "g";
    request.member_id = member;
    request.generation_id_or_member_epoch = generation;
    request.topics.push_back(
        {.name = "t",
         .partitions = {
             {.partition_index = 0, .committed_offset = offset, .committed_metadata = metadata}}});
    return run_task(context_, groups_->start_commit(request, 8));
  }
  KafkaError outcome(PendingCommit commit) {
    return run_task(context_, commit.wait()).topics.front().partitions.front().error_code;
  }
  KafkaError commit(const std::string& member, std::int32_t generation, Offset offset = 5,
                    std::string_view metadata = "note") {
    return outcome(start_commit(member, generation, offset, metadata));
  }

  std::optional<Offset> committed() {
    auto group = log_.group("g");
    if (!group) return std::nullopt;
    const auto* offset = group->offsets.find(TopicPartition{kTopic, 0});
    if (offset == nullptr) return std::nullopt;
    return offset->offset;
  }

  // Two members, the first leads, in generation 1, stable.
  std::pair<std::string, std::string> stable_pair() {
    Joined a = join_new();
    Joined b = join_new();
    advance(seconds(6));
    EXPECT_TRUE(a.answer->has_value());
    std::string leader = (**a.answer).leader;
    std::string follower = leader == a.id ? b.id : a.id;
    auto waiting = sync(follower, 1);
    auto leading = sync(leader, 1, {{leader, "L"}, {follower, "F"}});
    EXPECT_EQ(as_text((**waiting).assignment.bytes()), "F");
    EXPECT_EQ(as_text((**leading).assignment.bytes()), "L");
    EXPECT_EQ(state(), "Stable");
    return {leader, follower};
  }

  ManualClock clock_;
  boost::asio::io_context context_;
  // Brokers come and go in the tests; the log's listener stays.
  struct Listener final : metadata::CommitListener {
    void on_partitions_advanced(std::span<const TopicPartition>) override {}
    void on_image_changed() override {
      if (groups != nullptr) groups->on_image_changed();
    }
    void on_groups_changed(std::span<const std::string> changed) override {
      if (groups != nullptr) groups->on_groups_changed(changed);
    }
    GroupCoordinator* groups = nullptr;
  } listener_;
  metadata::MemoryCoordinator log_{clock_, context_.get_executor()};
  GroupLimits limits_;
  std::uint64_t seed_ = 0;
  std::unique_ptr<GroupCoordinator> groups_;
  std::vector<std::unique_ptr<Who>> who_;
  std::vector<std::unique_ptr<JoinGroupRequest>> joins_;
  std::vector<std::unique_ptr<SyncGroupRequest>> syncs_;
  std::deque<std::string> texts_;
};

}  // namespace weir::groups
