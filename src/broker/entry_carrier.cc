#include "broker/entry_carrier.h"

#include "broker/append_proof.h"
#include "kafka/protocol/frame.h"
#include "metadata/state/record.h"

#include <fmt/format.h>

namespace weir::broker {
namespace {

using kafka::AppendEntryRequest;
using kafka::AppendEntryResponse;
using kafka::KafkaError;
using metadata::Appended;

constexpr std::int16_t kVersion = 0;
// One request at a time and connection.
constexpr std::int32_t kCorrelation = 0;

std::string name(const metadata::BrokerImage& broker) {
  return fmt::format("broker {}, which appends for all", broker.id);
}

bool is_refusal(KafkaError error) {
  return error == KafkaError::kBrokerNotAvailable ||
         error == KafkaError::kClusterAuthorizationFailed;
}

Result<AppendEntryResponse> read_answer(const Slice& frame) {
  WEIR_TRY(Slice body,
           kafka::parse_response(frame, AppendEntryRequest::kApiKey, kVersion, kCorrelation));
  return kafka::decode<AppendEntryResponse>(body, kVersion);
}

Result<Appended> appended(AppendEntryResponse answer, metadata::Position known) {
  Appended result{.position = answer.position, .entries = {}};
  for (auto& entry : answer.entries) {
    result.entries.push_back({.position = ++known, .bytes = entry.entry.flatten()});
  }
  if (!result.entries.empty() && result.entries.back().position > result.position) {
    return fail(ErrorCode::kCorrupt, fmt::format("an append to position {} brings entries up to {}",
                                                 result.position, result.entries.back().position));
  }
  return result;
}

}  // namespace

bool EntryCarrier::takes(const Slice& entry) const { return metadata::counts_once(entry); }

Task<Result<Appended>> EntryCarrier::carry(const metadata::BrokerImage& to, Slice entry,
                                           metadata::Position known) {
  AppendEntryRequest request{.broker_id = self_,
                             .receiver_epoch = to.epoch,
                             .known = known,
                             .entry = std::move(entry),
                             .proof = {}};
  const Sha256 proof = proof_of(to.incarnation, request);
  request.proof = proof;
  WEIR_CO_TRY(Chain frame, kafka::request_frame(kCorrelation, "weir", request, kVersion));
  auto received = co_await channel_.exchange(to, std::move(frame));
  if (!received) co_return std::unexpected(received.error().in(name(to)));
  // From here on the entry may stand, whatever is wrong with the answer.
  auto answer = read_answer(*received);
  if (!answer) co_return fail(ErrorCode::kTimeout, answer.error().in(name(to)).to_string());
  if (answer->error_code != KafkaError::kNone) {
    // Whoever says so: an entry that is appended here and stands already counts once.
    co_return fail(is_refusal(answer->error_code) ? ErrorCode::kUnavailable : ErrorCode::kTimeout,
                   fmt::format("{}: {}: {}", name(to), kafka::to_string(answer->error_code),
                               answer->error_message.value_or("")));
  }
  if (!is_proof(answer->proof.bytes(), proof_of(to.incarnation, proof, *answer))) {
    co_return fail(ErrorCode::kTimeout, name(to) + ": the answer is not from that broker");
  }
  co_return appended(*std::move(answer), known);
}

}  // namespace weir::broker
