// Both ends of AppendEntry, with the frames between them.
#include "broker/entry_carrier.h"

#include "broker/append_for_others.h"
#include "broker/append_proof.h"
#include "kafka/protocol/frame.h"
#include "metadata/log/forwarding_log.h"
#include "metadata/log/memory_log.h"
#include "metadata/state/record.h"
#include "runtime/test_loop.h"

#include <gtest/gtest.h>

namespace weir::broker {
namespace {

using kafka::AppendEntryRequest;
using kafka::AppendEntryResponse;
using metadata::Appended;
using metadata::BrokerImage;
using metadata::ClusterImage;
using metadata::MemoryLog;

constexpr BrokerId kReceiver = 1;

// Broker 1 as broker 2 reaches it. The test may change what passes.
class Peer final : public PeerChannel {
 public:
  explicit Peer(MemoryLog& log) : log_(log) {
    auto image = std::make_shared<ClusterImage>();
    image->brokers[kReceiver] = {.id = kReceiver, .epoch = 5, .incarnation = {11, 22}};
    cluster = std::move(image);
    append_to = &log_;
  }

  Task<Result<Slice>> exchange(const BrokerImage& to, Chain frame) override {
    EXPECT_EQ(to.id, kReceiver);
    Slice sent = on_request(frame.flatten().sub(sizeof(std::int32_t)));
    WEIR_CO_TRY(kafka::RequestFrame parsed, kafka::parse_request(sent));
    WEIR_CO_TRY(AppendEntryRequest request, kafka::decode<AppendEntryRequest>(parsed.body, 0));
    AppendEntryResponse response =
        co_await append_for_others(cluster, kReceiver, append_to, request);
    on_response(response);
    WEIR_CO_TRY(Chain answer, kafka::response_frame(parsed.header.correlation_id, response,
                                                    parsed.header.version));
    co_return answer.flatten().sub(sizeof(std::int32_t));
  }

  std::shared_ptr<const ClusterImage> cluster;
  metadata::MetadataLog* append_to;
  std::function<Slice(Slice)> on_request = [](Slice frame) { return frame; };
  std::function<void(AppendEntryResponse&)> on_response = [](AppendEntryResponse&) {};

 private:
  MemoryLog& log_;
};

class EntryCarrierTest : public testing::Test {
 protected:
  // A record of broker 2; its commands do not matter here.
  static Slice record(std::string_view text) {
    return metadata::encode_record({.broker = 2, .epoch = 3}, 0, as_bytes(text));
  }
  Result<Appended> carry(std::string_view entry, metadata::Position known = 0) {
    return run_task(carrier_.carry(receiver_, record(entry), known));
  }
  ErrorCode failure(std::string_view entry = "entry") {
    auto appended = carry(entry);
    return appended ? ErrorCode::kInternal : appended.error().code;
  }
  std::int64_t entries() { return run_task(log_.tail()).value(); }

  ManualClock clock_;
  MemoryLog log_{clock_};
  Peer peer_{log_};
  EntryCarrier carrier_{2, peer_};
  BrokerImage receiver_ = peer_.cluster->brokers.at(kReceiver);
};

TEST_F(EntryCarrierTest, AnEntryArrivesAndBringsTheOthers) {
  for (const char* entry : {"first", "second"}) {
    ASSERT_TRUE(run_task(log_.append(Slice::copy_of(entry), 0)));
  }
  auto appended = carry("third", 1);
  ASSERT_TRUE(appended) << appended.error().to_string();
  EXPECT_EQ(appended->position, 3);
  ASSERT_EQ(appended->entries.size(), 2U);
  EXPECT_EQ(appended->entries[0].position, 2);
  EXPECT_EQ(as_text(appended->entries[0].bytes.bytes()), "second");
  EXPECT_EQ(appended->entries[1].position, 3);
  EXPECT_EQ(as_text(appended->entries[1].bytes.bytes()), as_text(record("third").bytes()));
}

class CountingLog final : public metadata::ForwardingLog {
 public:
  using ForwardingLog::ForwardingLog;
  Task<Result<Appended>> append_for_another(Slice entry, metadata::Position known) override {
    ++for_others;
    return ForwardingLog::append_for_another(std::move(entry), known);
  }
  int for_others = 0;
};

// Else it would leave them no time to read what it writes.
TEST_F(EntryCarrierTest, TheLogIsToldThatTheEntryIsAnothers) {
  CountingLog log(std::make_unique<MemoryLog>(clock_));
  peer_.append_to = &log;
  ASSERT_TRUE(carry("entry"));
  EXPECT_EQ(log.for_others, 1);
}

TEST_F(EntryCarrierTest, WhoCannotReadTheLogAppendsNothing) {
  receiver_.incarnation = {11, 23};
  EXPECT_EQ(failure(), ErrorCode::kUnavailable);
  EXPECT_EQ(entries(), 0);
}

TEST_F(EntryCarrierTest, AnythingThatWasChangedOnTheWayIsRefused) {
  peer_.on_request = [](Slice frame) {
    std::vector<std::byte> bytes(frame.bytes().begin(), frame.bytes().end());
    auto at = std::ranges::search(bytes, as_bytes("entry")).begin();
    *at ^= std::byte{1};
    return Slice::of(std::move(bytes));
  };
  EXPECT_EQ(failure(), ErrorCode::kUnavailable);
  EXPECT_EQ(entries(), 0);
}

TEST_F(EntryCarrierTest, ABrokerThatAppendsForNobodyOrInAnotherEpochRefuses) {
  peer_.append_to = nullptr;
  EXPECT_EQ(failure(), ErrorCode::kUnavailable);
  peer_.append_to = &log_;
  receiver_.epoch = 4;
  EXPECT_EQ(failure(), ErrorCode::kUnavailable);
  receiver_.epoch = 5;
  peer_.cluster = std::make_shared<ClusterImage>();
  EXPECT_EQ(failure(), ErrorCode::kUnavailable);
  EXPECT_EQ(entries(), 0);
}

// Such a request may be sent once more by somebody who saw it.
TEST_F(EntryCarrierTest, WhatDoesNotCountOnceIsNotAppendedForOthers) {
  const std::vector<std::byte> creation =
      metadata::encode_command(metadata::ClusterCreated{.cluster_id = {1, 2}}).value();
  const Slice beginning = metadata::encode_record({.broker = 2}, 1, creation);
  EXPECT_FALSE(carrier_.takes(beginning));
  EXPECT_TRUE(carrier_.takes(record("")));
  auto carried = run_task(carrier_.carry(receiver_, beginning, 0));
  ASSERT_FALSE(carried);
  EXPECT_EQ(carried.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(carrier_.takes(Slice::copy_of("no record")));
  EXPECT_EQ(entries(), 0);
}

TEST_F(EntryCarrierTest, ARegistrationIsAppendedForTheBrokerThatHasNoEpochYet) {
  const std::vector<std::byte> command =
      metadata::encode_command(metadata::RegisterBroker{.broker_id = 2, .incarnation = {3, 4}})
          .value();
  const Slice registration = metadata::encode_record({.broker = 2}, 1, command);
  EXPECT_TRUE(carrier_.takes(registration));
  EXPECT_TRUE(run_task(carrier_.carry(receiver_, registration, 0)));
  EXPECT_EQ(entries(), 1);
}

// The entry may stand: an append that failed there, or an answer that nobody can trust.
TEST_F(EntryCarrierTest, WhatIsNotKnownIsNoRefusal) {
  log_.fail_append(1, MemoryLog::Effect::kNone, ErrorCode::kRefused);
  EXPECT_EQ(failure(), ErrorCode::kTimeout);
  peer_.on_response = [](AppendEntryResponse& response) { response.position += 1; };
  EXPECT_EQ(failure(), ErrorCode::kTimeout);
  peer_.on_response = [](AppendEntryResponse& response) {
    response.entries.back().entry = Chain(Slice::copy_of("forged"));
  };
  EXPECT_EQ(failure(), ErrorCode::kTimeout);
  // The true answer to another request.
  std::optional<AppendEntryResponse> first;
  peer_.on_response = [&](AppendEntryResponse& response) {
    if (first) response = *first;
    first = response;
  };
  ASSERT_TRUE(carry("one"));
  EXPECT_EQ(failure("two"), ErrorCode::kTimeout);
}

// Values by Python's hmac module:
//   hmac.new(struct.pack(">QQ", 11, 22), b"weir append " + struct.pack(">iqq", 2, 5, 7) + b"entry",
//   "sha256")
TEST(AppendProof, IsAnHmacOverTheWholeRequest) {
  AppendEntryRequest request{
      .broker_id = 2, .receiver_epoch = 5, .known = 7, .entry = {}, .proof = {}};
  request.entry = Slice::copy_of("entry");
  EXPECT_EQ(to_hex(proof_of({11, 22}, request)),
            "92c98d7600c7cdd4fd1b4ad11b427a82516e42315b0aea695ef32cbe011cef34");
  EXPECT_TRUE(is_proof(proof_of({11, 22}, request), proof_of({11, 22}, request)));
  EXPECT_FALSE(is_proof({}, proof_of({11, 22}, request)));
}

}  // namespace
}  // namespace weir::broker
