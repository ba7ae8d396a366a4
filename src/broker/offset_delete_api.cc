// OffsetDelete: groups::GroupCoordinator does the work.
#include "broker/apis.h"
#include "broker/broker.h"
#include "groups/group_coordinator.h"
#include "kafka/protocol/messages/offset_delete.h"

namespace weir::broker {
namespace {

Task<kafka::OffsetDeleteResponse> offset_delete(Broker& broker, const RequestContext&,
                                                const kafka::OffsetDeleteRequest& request) {
  co_return co_await broker.groups.delete_offsets(request);
}

}  // namespace

const ApiHandler kOffsetDeleteApi{kafka::ApiKey::kOffsetDelete,
                                  &serve<&offset_delete, kafka::OffsetDeleteRequest>};

}  // namespace weir::broker
