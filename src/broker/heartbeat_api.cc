// Heartbeat: groups::GroupCoordinator does the work.
#include "broker/apis.h"
#include "broker/broker.h"
#include "groups/group_coordinator.h"
#include "kafka/protocol/messages/heartbeat.h"

namespace weir::broker {
namespace {

Task<kafka::HeartbeatResponse> heartbeat(Broker& broker, const RequestContext&,
                                         const kafka::HeartbeatRequest& request) {
  co_return co_await broker.groups.heartbeat(request);
}

}  // namespace

const ApiHandler kHeartbeatApi{kafka::ApiKey::kHeartbeat,
                               &serve<&heartbeat, kafka::HeartbeatRequest>};

}  // namespace weir::broker
