#include "main/run_broker.h"

#include "broker/admin_http.h"
#include "main/broker_process.h"
#include "metadata/log_coordinator.h"
#include "runtime/allocator.h"
#include "runtime/backoff.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "runtime/notifier.h"
#include "runtime/run_on.h"
#include "runtime/task_group.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <ostream>

namespace weir {
namespace {

// Most supervisors kill after 30 s. A store or a log that took nothing until then takes nothing
// more, and a broker that is killed loses nothing either.
constexpr Duration kStopPatience = std::chrono::seconds(25);
// Between the end of a life and the next, longer each time until one of them lasts.
constexpr Duration kFirstRest = std::chrono::milliseconds(500);
constexpr Duration kLongestRest = std::chrono::seconds(30);
constexpr Duration kLastingLife = std::chrono::minutes(1);

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

// The lives of a broker in this process, one after the other, and what they share: metrics and the
// page for operators. All on one thread, but for what blocks.
class Lives {
 public:
  Lives(Executor executor, LoadedConfig config, Output output);

  Task<ExitCode> run();

 private:
  Status start_page();
  Task<ExitCode> live();
  Task<Status> open();
  // Whether it served.
  Task<bool> wait_for_end();
  Task<void> close();
  Task<void> rest();
  [[nodiscard]] Status readiness() const;

  Executor executor_;
  LoadedConfig config_;
  Output output_;
  SystemClock clock_;
  MetricsRegistry metrics_;
  Counter& rebuilds_;
  boost::asio::thread_pool blocking_{1};
  Rng rng_ = Rng::from_entropy();
  Backoff rests_{kFirstRest, kLongestRest};
  std::unique_ptr<broker::AdminHttp> page_;
  std::unique_ptr<BrokerProcess> broker_;  // null between two lives
  MonoTime born_{};
  std::optional<Error> failure_;  // of this life, or the one before
  bool is_asked_to_end_ = false;
  Notifier changed_;  // one of the two above
};

Lives::Lives(Executor executor, LoadedConfig config, Output output)
    : executor_(std::move(executor)),
      config_(std::move(config)),
      output_(output),
      rebuilds_(metrics_.counter("weir_broker_rebuilds_total",
                                 "Times that the broker was built anew in its process, because the "
                                 "metadata log no longer held what it had read.")) {}

Status Lives::readiness() const {
  if (broker_) return broker_->readiness();
  if (!failure_) return fail(ErrorCode::kUnavailable, "the broker starts or stops");
  return std::unexpected(failure_->in("the broker is built anew"));
}

Status Lives::start_page() {
  const auto& address = config_.broker.http_listener;
  if (!address) return {};
  page_ = std::make_unique<broker::AdminHttp>(broker::AdminHttpParts{
      .executor = executor_,
      .clock = clock_,
      .metrics = metrics_,
      .request_memory = [this] { return broker_ ? broker_->used_request_memory() : 0; },
      .readiness = [this] { return readiness(); }});
  Status started = page_->start({.host = address->host, .port = address->port});
  if (!started) return std::unexpected(started.error().in("http.listener"));
  log::info("http.open", {{"host", address->host}, {"port", page_->port()}});
  return {};
}

Task<Status> Lives::open() {
  struct Opened {
    std::unique_ptr<BrokerProcess> broker;
    Status started;
  };
  auto opened = co_await run_on(blocking_.get_executor(), [this]() -> Result<Opened> {
    WEIR_TRY(auto broker, BrokerProcess::open(config_, metrics_));
    Status started = broker->start();
    return Opened{std::move(broker), std::move(started)};
  });
  if (!opened) {
    failure_ = opened.error();
    co_return std::unexpected(opened.error());
  }
  broker_ = std::move(opened->broker);
  // The ports that the system chose are those that clients know.
  config_ = broker_->config();
  if (!opened->started) {
    failure_ = opened->started.error();
    co_await close();
  }
  co_return opened->started;
}

// Until a signal asks for the end, or the broker fails.
Task<bool> Lives::wait_for_end() {
  TaskGroup watch;
  auto watch_failure = [](Lives& lives) -> Task<void> {
    Error error = co_await lives.broker_->failed();
    if (error.code == ErrorCode::kCancelled) co_return;
    lives.failure_ = std::move(error);
    lives.changed_.notify();
  };
  failure_.reset();
  watch.spawn(executor_, watch_failure(*this));
  while (!is_asked_to_end_ && !failure_) co_await changed_.wait();
  const bool has_served = broker_->was_ready();
  co_await close();
  co_await watch.join();
  co_return has_served;
}

Task<void> Lives::close() {
  using Manner = BrokerProcess::Manner;
  auto cut = clock_.call_at(clock_.now() + kStopPatience, executor_, end_at_once);
  co_await broker_->stop(failure_ ? Manner::kAtOnce : Manner::kInOrder);
  // Its threads end here.
  std::ignore = co_await run_on(blocking_.get_executor(), [broker = std::move(broker_)]() mutable {
    broker.reset();
    return Status();
  });
  // What they tell is no more.
  metrics_.zero_gauges();
  cut->cancel();
}

Task<void> Lives::rest() {
  if (clock_.now() - born_ >= kLastingLife) rests_.reset();
  const MonoTime end = clock_.now() + rests_.next(rng_);
  while (!is_asked_to_end_ && clock_.now() < end) co_await changed_.wait_until(clock_, end);
}

// A life that never served has nothing to go back to: whoever starts the process shall see why.
Task<ExitCode> Lives::live() {
  bool has_served = false;
  while (!is_asked_to_end_) {
    born_ = clock_.now();
    Status opened = co_await open();
    if (!opened && !has_served) {
      *output_.err << opened.error().to_string() << '\n';
      co_return ExitCode::kFailure;
    }
    if (opened) has_served |= co_await wait_for_end();
    if (is_asked_to_end_) break;
    log::error("broker.failed", {{"error", *failure_}});
    const bool goes_on = has_served && (!opened || metadata::may_start_anew(*failure_));
    if (!goes_on) co_return ExitCode::kFailure;
    if (opened) {
      log::error("broker.rebuild", {{"text",
                                     "the broker starts anew from what the metadata log holds now; "
                                     "what it held before and does not hold any more is lost, "
                                     "acknowledged records among it"}});
      rebuilds_.add();
    }
    co_await rest();
  }
  co_return ExitCode::kSuccess;
}

Task<ExitCode> Lives::run() {
  boost::asio::signal_set signals(executor_, SIGTERM, SIGINT);
  if (heeds_hangup()) signals.add(SIGHUP);
  signals.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    log::info("broker.signal", {{"signal", signal}});
    is_asked_to_end_ = true;
    changed_.notify();
  });
  ExitCode code = ExitCode::kFailure;
  if (Status paged = start_page(); paged) {
    code = co_await live();
  } else {
    *output_.err << paged.error().to_string() << '\n';
  }
  signals.cancel();
  if (page_) co_await page_->stop();
  co_return code;
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
  boost::asio::io_context loop;
  Lives lives(loop.get_executor(), std::move(config), output);
  ExitCode code = ExitCode::kFailure;
  boost::asio::co_spawn(loop, lives.run(), [&](const std::exception_ptr& error, ExitCode ended) {
    if (error) std::rethrow_exception(error);
    code = ended;
  });
  loop.run();
  return code;
}

}  // namespace weir
