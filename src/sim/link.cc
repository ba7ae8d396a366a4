#include "sim/link.h"

namespace weir::sim {
Link::Link(World& world, Machine& client, const Weather& weather, std::vector<SimNode*> nodes,
           Duration patience)
    : world_(world),
      client_(client),
      weather_(weather),
      patience_(patience),
      nodes_(std::move(nodes)),
      rng_(world.fork()),
      node_(nodes_.front()) {
  choose();
}

void Link::choose() {
  std::vector<SimNode*> ready;
  for (SimNode* node : nodes_) {
    if (node->process() && node->process()->ready()) ready.push_back(node);
  }
  const auto& from = ready.empty() ? nodes_ : ready;
  node_ = from[rng_.below(from.size())];
  connection_.reset();
}

void Link::choose(BrokerId id) {
  for (SimNode* node : nodes_) {
    if (node->id() == id && node != node_) {
      node_ = node;
      connection_.reset();
    }
  }
}

bool Link::connect() {
  if (weather_.cut(node_->id()).clients) return false;
  const std::shared_ptr<SimProcess> process = node_->process();
  if (connection_ && process && process == process_.lock()) return true;
  process_ = process;
  connection_ = process ? process->connect() : nullptr;
  connection_id_ = rng_.next();
  process_number_ = process ? process->number() : 0;
  return connection_ != nullptr;
}

Task<std::shared_ptr<ServerConnection>> Link::deliver(Slice frame, ServerConnection::Reply reply) {
  if (!connect()) {
    co_await client_.clock().sleep(draw_delay(rng_, weather_.faults.network));
    co_return nullptr;
  }
  const std::shared_ptr<ServerConnection> connection = connection_;
  const std::shared_ptr<SimProcess> process = process_.lock();
  last_arrival_ =
      std::max(last_arrival_, client_.clock().now() + draw_delay(rng_, weather_.faults.network));
  const BrokerId broker = node_->id();
  const bool breaks = happens(rng_, weather_.faults.network.refused / 4);
  co_await client_.clock().sleep(last_arrival_ - client_.clock().now());
  if (breaks || weather_.cut(broker).clients) connection->close();
  world_.note("request", frame.bytes());
  connection->send(process->dispatcher(), std::move(frame), reply);
  co_return connection;
}

// Until the broker answers, or the patience is over.
Task<Result<Slice>> Link::wait_for(ServerConnection::Reply reply) {
  auto timer = client_.clock().call_after(patience_, client_.executor(), [reply]() mutable {
    reply.set(fail(ErrorCode::kTimeout, "no answer in time"));
  });
  auto answer = co_await reply.wait();
  timer->cancel();
  world_.note("answer", answer ? answer->bytes() : as_bytes(answer.error().message));
  co_return answer;
}

Task<Result<Slice>> Link::exchange(Slice frame) {
  const BrokerId broker = node_->id();
  const ServerConnection::Reply reply;
  const std::shared_ptr<ServerConnection> connection = co_await deliver(std::move(frame), reply);
  if (!connection) co_return fail(ErrorCode::kUnavailable, "nobody listens");
  auto answer = co_await wait_for(reply);
  const MonoTime answered = world_.now();
  if (answer) {
    co_await client_.clock().sleep(draw_delay(rng_, weather_.faults.network));
    if (weather_.cut(broker).clients || happens(rng_, weather_.faults.network.lost / 2)) {
      answer = fail(ErrorCode::kTimeout, "the answer is lost");
    }
  }
  // A socket that lost bytes is of no use any more.
  if (!answer) {
    connection->close();
    if (connection_ == connection) connection_.reset();
  }
  answered_ = answered;
  co_return answer;
}

Task<Result<bool>> Link::send_frame(Slice frame) {
  const ServerConnection::Reply reply;
  const std::shared_ptr<ServerConnection> connection = co_await deliver(std::move(frame), reply);
  if (!connection) co_return fail(ErrorCode::kUnavailable, "nobody listens");
  auto answer = co_await wait_for(reply);
  if (answer) co_return !answer->empty();
  // Nobody waits for this one: that it takes long is no trouble.
  const bool is_broken = answer.error().code != ErrorCode::kTimeout;
  if (is_broken && connection_ == connection) choose();
  co_return std::unexpected(answer.error());
}

}  // namespace weir::sim
