// OffsetCommit: groups::GroupCoordinator does the work.
#include "broker/apis.h"
#include "broker/broker.h"
#include "groups/group_coordinator.h"
#include "kafka/protocol/messages/offset_commit.h"

namespace weir::broker {
namespace {

Task<kafka::OffsetCommitResponse> offset_commit(Broker& broker, const RequestContext& context,
                                                const kafka::OffsetCommitRequest& request) {
  co_return co_await broker.groups.commit_offsets(request, context.version());
}

}  // namespace

const ApiHandler kOffsetCommitApi{kafka::ApiKey::kOffsetCommit,
                                  &serve<&offset_commit, kafka::OffsetCommitRequest>};

}  // namespace weir::broker
