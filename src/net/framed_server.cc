#include "net/framed_server.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

namespace weir::net {
namespace {

std::uint64_t next_connection_id() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

Error cut_off_error() { return {ErrorCode::kCancelled, "the broker stops"}; }

}  // namespace

FramedServer::FramedServer(std::string name, std::vector<Executor> cores,
                           const FramedServerServices& services, const ConnectionLimits& limits)
    : name_(std::move(name)),
      limits_(limits),
      metrics_(services.metrics, name_),
      services_{.clock = services.clock,
                .budget = services.memory,
                .handler = services.handler,
                .limits = limits_,
                .metrics = metrics_},
      listener_(cores, services.clock, services.slots, *this) {
  for (Executor& core : cores) cores_.push_back(std::make_shared<Core>(std::move(core)));
}

FramedServer::~FramedServer() = default;

Task<void> FramedServer::serve(std::unique_ptr<Stream> stream, std::size_t core) {
  Core& home = *cores_[core];
  ConnectionContext context;
  context.id = next_connection_id();
  context.listener = name_;
  context.executor = home.executor;
  const std::uint64_t id = context.id;
  FramedConnection connection(std::move(stream), services_, std::move(context));
  home.connections.emplace(id, &connection);
  metrics_.open.add(1);
  if (draining_) connection.drain();
  if (cut_off_) connection.abort(cut_off_error());
  Status ended = co_await connection.run();
  metrics_.open.add(-1);
  home.connections.erase(id);
  report(connection.context(), ended);
}

void FramedServer::report(const ConnectionContext& context, const Status& ended) {
  if (!ended && ended.error().code != ErrorCode::kCancelled) metrics_.failed.add();
  if (ended || ended.error().code != ErrorCode::kInvalid) {
    log::debug("connection.closed", {{"listener", name_},
                                     {"connection", context.id},
                                     {"peer", context.peer},
                                     {"reason", ended ? "ended" : ended.error().to_string()}});
    return;
  }
  log::warn(log_limit_, "connection.rejected",
            {{"listener", name_}, {"peer", context.peer}, {"error", ended.error()}});
}

void FramedServer::on_every_connection(std::function<void(FramedConnection&)> action) {
  for (auto& core : cores_) {
    boost::asio::post(core->executor, [home = core, action] {
      for (auto& [id, connection] : home->connections) action(*connection);
    });
  }
}

Task<void> FramedServer::drain(Duration patience) {
  listener_.stop();
  draining_ = true;
  on_every_connection([](FramedConnection& connection) { connection.drain(); });
  auto timer =
      services_.clock.call_after(patience, co_await boost::asio::this_coro::executor, [this] {
        cut_off_ = true;
        on_every_connection(
            [](FramedConnection& connection) { connection.abort(cut_off_error()); });
      });
  co_await listener_.join();
  timer->cancel();
}

}  // namespace weir::net
