// What members of groups take of memory, and that nobody gets around it.
#include "groups/test_groups.h"

namespace weir::groups {
namespace {

class MemberMemoryTest : public GroupsTest {
 protected:
  void limit_to(ByteCount bytes) {
    limits_.members_max_bytes = bytes;
    restart();
  }
  // Nothing while the join waits.
  std::optional<KafkaError> error_of(Who who) {
    auto answer = join(std::move(who));
    if (!answer->has_value()) return std::nullopt;
    return (**answer).error_code;
  }
};

TEST_F(MemberMemoryTest, MembersTogetherTakeLimitedMemory) {
  limit_to(50'000);
  const std::string large(9'000, 'm');
  auto first = join({.metadata = large, .version = 3});
  EXPECT_EQ((*join({.version = 3}))->error_code, KafkaError::kCoordinatorNotAvailable);
  advance(seconds(3));
  ASSERT_EQ((*first)->error_code, KafkaError::kNone);
  // Saying less, or leaving, gives it back.
  join({.member_id = (*first)->member_id});
  auto second = join({.version = 3});
  EXPECT_FALSE(second->has_value());
  leave((*first)->member_id);
}

TEST_F(MemberMemoryTest, IdsHandedOutTakeOfTheSameMemory) {
  limit_to(20'000);
  std::size_t given = 0;
  KafkaError error = KafkaError::kMemberIdRequired;
  while (error == KafkaError::kMemberIdRequired && given < 100) {
    error = (*join({}))->error_code;
    given += error == KafkaError::kMemberIdRequired ? 1 : 0;
  }
  EXPECT_EQ(error, KafkaError::kCoordinatorNotAvailable);
  EXPECT_GT(given, 1U);
  EXPECT_LT(given, 10U);
  // They lapse.
  advance(seconds(11));
  EXPECT_EQ((*join({}))->error_code, KafkaError::kMemberIdRequired);
}

TEST_F(MemberMemoryTest, AJoinThatIsRefusedChangesNobodysAccount) {
  limit_to(50'000);
  const std::string large(9'000, 'm');
  auto first = join({.metadata = large, .version = 3});
  advance(seconds(3));
  // In the member's name, but with an instance that it is not, and less to say.
  auto other = join({.member_id = (*first)->member_id, .instance_id = "x"});
  EXPECT_EQ((*other)->error_code, KafkaError::kUnknownMemberId);
  EXPECT_EQ(error_of({.version = 3}), KafkaError::kCoordinatorNotAvailable);
}

TEST_F(MemberMemoryTest, NamesCountAsOftenAsTheyAreKept) {
  const std::string large(10'000, 'n');
  for (const Who& who : {Who{.instance_id = large}, Who{.version = 3, .client_id = large},
                         Who{.version = 3, .group = large}}) {
    limit_to(95'000);
    EXPECT_FALSE(join(who)->has_value());
    EXPECT_EQ(error_of({.version = 3}), KafkaError::kCoordinatorNotAvailable);
  }
}

TEST_F(MemberMemoryTest, ProtocolsCountAlsoWhenTheySayNothing) {
  limit_to(200'000);
  EXPECT_FALSE(join({.metadata = "", .version = 3, .protocol_count = 1'000})->has_value());
  EXPECT_EQ(error_of({.version = 3}), KafkaError::kCoordinatorNotAvailable);
}

TEST_F(MemberMemoryTest, ARequestKeepsItsPlaceUntilTheMemberHasItsOwn) {
  auto place = std::make_shared<int>();
  std::weak_ptr<int> watched = place;
  // Not started yet: as one that waits for the log.
  JoinGroupRequest request;
  request.group_id = "g";
  request.session_timeout_ms = 10'000;
  request.rebalance_timeout_ms = 60'000;
  request.protocol_type = "consumer";
  request.protocols.push_back({.name = "range", .metadata = as_bytes("m")});
  GroupClient client{.client_id = "client", .host = "/127.0.0.1", .reservation = std::move(place)};
  auto joining = groups_->join(std::move(client), request, 3);
  EXPECT_FALSE(watched.expired());
  auto answer = start_task(std::move(joining));
  EXPECT_FALSE(answer->has_value());
  EXPECT_TRUE(watched.expired());
}

TEST_F(MemberMemoryTest, AssignmentsTakeOfItToo) {
  limit_to(100'000);
  Joined a = join_new();
  advance(seconds(3));
  auto large = sync(a.id, 1, {{a.id, std::string(40'000, 'a')}});
  EXPECT_EQ((**large).error_code, KafkaError::kCoordinatorNotAvailable);
  // The group goes on with a smaller one, which takes the room of others until it ends.
  auto again = join({.member_id = a.id});
  ASSERT_TRUE(again->has_value());
  auto fits =
      sync(a.id, 2, {{a.id, std::string(20'000, 'a')}, {"nobody", std::string(90'000, 'n')}});
  EXPECT_EQ((**fits).error_code, KafkaError::kNone);
  const std::string metadata(3'000, 'm');
  const Who other{.metadata = metadata, .version = 3, .group = "other"};
  EXPECT_EQ(error_of(other), KafkaError::kCoordinatorNotAvailable);
  leave(a.id);
  EXPECT_EQ(error_of(other), std::nullopt);
}

TEST_F(MemberMemoryTest, AGenerationIsLimitedInTheLog) {
  limit_to(1_GiB);
  Joined a = join_new();
  Joined b = join_new();
  advance(seconds(6));
  const std::string leader = (**a.answer).leader;
  const std::string follower = leader == a.id ? b.id : a.id;
  const std::string half(4_MiB, 'a');
  auto waiting = sync(follower, 1);
  auto leading = sync(leader, 1, {{leader, half}, {follower, half}});
  // As Kafka answers when the record is too large for its offsets topic.
  EXPECT_EQ((**leading).error_code, KafkaError::kUnknownServerError);
  EXPECT_EQ((**waiting).error_code, KafkaError::kUnknownServerError);
  EXPECT_EQ(state(), "PreparingRebalance");
}

TEST_F(MemberMemoryTest, ASyncThatWaitsKeepsNothingOfItsRequest) {
  Joined a = join_new();
  Joined b = join_new();
  advance(seconds(6));
  const std::string follower = (**a.answer).leader == a.id ? b.id : a.id;
  auto place = std::make_shared<int>();
  std::weak_ptr<int> watched = place;
  SyncGroupRequest request;
  request.group_id = "g";
  request.generation_id = 1;
  request.member_id = follower;
  auto syncing = groups_->sync(request, std::move(place));
  EXPECT_FALSE(watched.expired());
  auto answer = start_task(std::move(syncing));
  EXPECT_FALSE(answer->has_value());
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace weir::groups
