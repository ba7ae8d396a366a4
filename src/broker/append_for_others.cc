#include "broker/append_for_others.h"

#include "broker/append_proof.h"
#include "metadata/state/record.h"

#include <fmt/format.h>

namespace weir::broker {
namespace {

using kafka::AppendEntryRequest;
using kafka::AppendEntryResponse;
using kafka::KafkaError;

AppendEntryResponse refusal(KafkaError error, std::string message) {
  AppendEntryResponse response;
  response.error_code = error;
  response.error_message = std::move(message);
  return response;
}

AppendEntryResponse answer_of(Result<metadata::Appended> appended) {
  if (!appended) return refusal(KafkaError::kUnknownServerError, appended.error().to_string());
  AppendEntryResponse response;
  response.position = appended->position;
  for (metadata::LogEntry& entry : appended->entries) {
    response.entries.push_back({.entry = Chain(std::move(entry.bytes))});
  }
  return response;
}

}  // namespace

Task<AppendEntryResponse> append_for_others(std::shared_ptr<const metadata::ClusterImage> cluster,
                                            BrokerId self, metadata::MetadataLog* log,
                                            const AppendEntryRequest& request) {
  auto own = cluster->brokers.find(self);
  if (log == nullptr || own == cluster->brokers.end() ||
      own->second.epoch != request.receiver_epoch) {
    co_return refusal(KafkaError::kBrokerNotAvailable,
                      fmt::format("broker {} appends nothing for others in epoch {}", self,
                                  request.receiver_epoch));
  }
  const Uuid key = own->second.incarnation;
  if (!is_proof(request.proof, proof_of(key, request))) {
    co_return refusal(KafkaError::kClusterAuthorizationFailed,
                      "the proof is not that of a broker of this cluster");
  }
  // Whoever saw the request on its way can send it once more.
  if (!metadata::counts_once(request.entry)) {
    co_return refusal(KafkaError::kBrokerNotAvailable,
                      "what begins a log, and what is no record, is not appended for others");
  }
  AppendEntryResponse response =
      answer_of(co_await log->append_for_another(request.entry, request.known));
  const Sha256 proof = proof_of(key, request.proof, response);
  response.proof = Slice::copy_of(proof);
  co_return response;
}

}  // namespace weir::broker
