// OffsetCommit, in two steps as Produce: groups::GroupCoordinator puts the commit in line for the
// log, and the connection reads on while it waits there. One at a time, the commits of a busy
// consumer would hold up its heartbeats where an append takes long.
#include "broker/apis.h"
#include "broker/broker.h"
#include "groups/group_coordinator.h"
#include "kafka/protocol/messages/offset_commit.h"

#include <boost/asio/this_coro.hpp>

namespace weir::broker {
namespace {

// The client id of `context` lies in the memory of `body`.
Task<void> answer_when_done(Broker& broker, RequestContext context, Slice body,
                            groups::PendingCommit commit, PendingAnswer pending) {
  const kafka::OffsetCommitResponse response = co_await commit.wait();
  Answer answer = answer_with(context, response);
  if (!hold(broker, context, answer))
    answer = co_await hold_later(broker, context, std::move(answer));
  pending.set(std::move(answer));
  static_cast<void>(body);
}

Task<PendingAnswer> start_offset_commit(Broker& broker, RequestContext context, Slice body) {
  auto request = kafka::decode<kafka::OffsetCommitRequest>(body, context.version());
  if (!request) co_return answered(std::unexpected(request.error()));
  groups::PendingCommit commit = co_await broker.groups.start_commit(*request, context.version());
  PendingAnswer pending;
  broker.tasks.spawn(co_await boost::asio::this_coro::executor,
                     answer_when_done(broker, context, body, std::move(commit), pending));
  co_return pending;
}

}  // namespace

const ApiHandler kOffsetCommitApi{kafka::ApiKey::kOffsetCommit, &start_offset_commit};

}  // namespace weir::broker
