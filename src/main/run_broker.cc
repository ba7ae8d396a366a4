#include "main/run_broker.h"

#include "main/broker_process.h"
#include "runtime/allocator.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "runtime/oneshot.h"
#include "runtime/task_group.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ostream>

namespace weir {
namespace {

// Most supervisors kill after 30 s. A store or a log that took nothing until then takes nothing
// more, and a broker that is killed loses nothing either.
constexpr Duration kStopPatience = std::chrono::seconds(25);

void end_at_once() {
  log::error("broker.stop.cut",
             {{"reason",
               "the object store or the metadata log does not answer: what was not "
               "acknowledged is given up"}});
  std::_Exit(static_cast<int>(ExitCode::kFailure));
}

// A terminal that is closed stops the broker as TERM does, unless it was started to outlive it
// (nohup). So it is with Apache Kafka.
bool heeds_hangup() {
  struct sigaction inherited{};
  return sigaction(SIGHUP, nullptr, &inherited) == 0 && inherited.sa_handler != SIG_IGN;
}

// Until a signal asks for the end, or the broker fails.
Task<ExitCode> wait_for_end(BrokerProcess& broker) {
  OneShot<ExitCode> end;
  auto executor = co_await boost::asio::this_coro::executor;
  boost::asio::signal_set signals(executor, SIGTERM, SIGINT);
  if (heeds_hangup()) signals.add(SIGHUP);
  signals.async_wait([end](const boost::system::error_code& error, int signal) mutable {
    if (error) return;
    log::info("broker.signal", {{"signal", signal}});
    end.set(ExitCode::kSuccess);
  });
  TaskGroup watch;
  auto watch_failure = [](BrokerProcess& watched, OneShot<ExitCode> ended) -> Task<void> {
    Error error = co_await watched.failed();
    if (error.code == ErrorCode::kCancelled) co_return;
    log::error("broker.failed", {{"error", error}});
    ended.set(ExitCode::kFailure);
  };
  watch.spawn(executor, watch_failure(broker, end));
  ExitCode code = co_await end.wait();
  signals.cancel();
  SystemClock clock;
  auto cut = clock.call_at(clock.now() + kStopPatience, executor, end_at_once);
  co_await broker.stop();
  cut->cancel();
  co_await watch.join();
  co_return code;
}

Task<ExitCode> stop_after_failure(BrokerProcess& broker) {
  co_await broker.stop();
  co_return ExitCode::kFailure;
}

}  // namespace

ExitCode run_broker(LoadedConfig config, Output output) {
  log::configure({.level = config.broker.log_level, .format = config.broker.log_format});
  for (const auto* warnings : {&config.layers.fixed.warnings, &config.broker.warnings}) {
    for (const std::string& warning : *warnings) log::warn("config.warning", {{"text", warning}});
  }
  tune_allocator(std::min<ByteCount>(64_MiB, config.broker.memory_budget_bytes / 16));
  // A client that goes away while it is written to is an error of that connection.
  std::signal(SIGPIPE, SIG_IGN);
  auto broker = BrokerProcess::open(std::move(config));
  if (!broker) {
    *output.err << broker.error().to_string() << '\n';
    return ExitCode::kFailure;
  }
  Status started = (*broker)->start();
  if (!started) *output.err << started.error().to_string() << '\n';
  boost::asio::io_context loop;
  ExitCode code = ExitCode::kFailure;
  auto life = started ? wait_for_end(**broker) : stop_after_failure(**broker);
  boost::asio::co_spawn(loop, std::move(life),
                        [&](const std::exception_ptr& error, ExitCode ended) {
                          if (error) std::rethrow_exception(error);
                          code = ended;
                        });
  loop.run();
  return code;
}

}  // namespace weir
