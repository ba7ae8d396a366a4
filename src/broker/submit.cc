#include "broker/submit.h"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

namespace weir::broker {
namespace {

using Outcome = Result<metadata::CommandResult>;

Task<void> submit(metadata::Coordinator& coordinator, metadata::Command command,
                  OneShot<Outcome> done) {
  done.set(co_await coordinator.submit(std::move(command)));
}

}  // namespace

std::chrono::milliseconds wait_of(std::int32_t timeout_ms) {
  return timeout_ms > 0 ? std::chrono::milliseconds(timeout_ms) : kDefaultWait;
}

Task<Outcome> submit_within(Broker& broker, metadata::Command command,
                            std::chrono::milliseconds wait) {
  OneShot<Outcome> done;
  Executor executor = co_await boost::asio::this_coro::executor;
  broker.tasks.spawn(executor, submit(broker.coordinator, std::move(command), done));
  auto timer = broker.clock.call_after(wait, executor, [done, wait]() mutable {
    done.set(fail(ErrorCode::kTimeout,
                  fmt::format("the metadata log did not answer within {} ms; the change may yet be "
                              "made",
                              wait.count())));
  });
  Outcome outcome = co_await done.wait();
  timer->cancel();
  co_return outcome;
}

}  // namespace weir::broker
