// Brokers, features and the cluster's identity.
#include "metadata/state/apply.h"
#include "metadata/state/metadata_level.h"

namespace weir::metadata {

using kafka::KafkaError;

CommandResult apply(Tables& tables, ApplyContext& context, const ClusterCreated& command) {
  if (!tables.cluster_id.is_zero()) return {};
  tables.cluster_id = command.cluster_id;
  context.changes.image = true;
  return {};
}

CommandResult apply(Tables& tables, ApplyContext& context, const RegisterBroker& command) {
  if (command.broker_id < 0) return {.error = KafkaError::kInvalidRequest};
  if (command.metadata_level < tables.metadata_level())
    return {.error = KafkaError::kUnsupportedVersion};
  BrokerState& broker = tables.brokers[command.broker_id];
  // The same registration again, because its outcome was unknown: it keeps its epoch, and stays
  // fenced if it was.
  if (broker.image.epoch >= 0 && broker.image.incarnation == command.incarnation) {
    return {.value = broker.image.epoch};
  }
  // It was on its way while the broker registered anew: late, or repeated by who saw it.
  if (broker.image.epoch > context.known) return {.error = KafkaError::kStaleBrokerEpoch};
  broker = {.image = {.id = command.broker_id,
                      .epoch = context.position,
                      .incarnation = command.incarnation,
                      .endpoints = command.endpoints,
                      .rack = command.rack,
                      .metadata_level = command.metadata_level},
            .last_position = context.position};
  ++tables.membership;
  context.changes.image = true;
  return {.value = broker.image.epoch};
}

CommandResult apply(Tables& tables, ApplyContext& context, const FenceBroker& command) {
  auto found = tables.brokers.find(command.broker_id);
  if (found == tables.brokers.end()) return {.error = KafkaError::kBrokerIdNotRegistered};
  BrokerState& broker = found->second;
  bool alive = command.last_seen >= 0 && broker.last_position > command.last_seen;
  if (broker.image.epoch != command.epoch || alive) return {.error = KafkaError::kStaleBrokerEpoch};
  if (broker.fenced) return {};
  broker.fenced = true;
  ++tables.membership;
  context.changes.image = true;
  return {};
}

CommandResult apply(Tables&, ApplyContext&, const Heartbeat&) { return {}; }

CommandResult apply(Tables& tables, ApplyContext& context, const SetFeatureLevel& command) {
  if (command.feature == kMetadataFeature) {
    if (command.level <= tables.metadata_level()) return {};
    if (command.level > tables.common_metadata_level()) {
      return {.error = KafkaError::kFeatureUpdateFailed};
    }
  }
  tables.features[command.feature] = command.level;
  context.changes.image = true;
  return {};
}

}  // namespace weir::metadata
