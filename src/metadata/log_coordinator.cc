#include "metadata/log_coordinator.h"

#include "metadata/snapshot_load.h"
#include "runtime/log.h"
#include "runtime/run_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace weir::metadata {
namespace {

// An outage matters to sessions when it takes a good part of one: a log of which a call fails now
// and then must not keep the dead among the living.
AppenderOptions appender_options(const LogCoordinatorOptions& options) {
  AppenderOptions out = options.appender;
  out.long_outage = options.membership.session_timeout / 3;
  return out;
}

Error stopping() { return {ErrorCode::kCancelled, "the coordinator stops"}; }

}  // namespace

LogCoordinator::LogCoordinator(MetadataLog& log, SnapshotStore* snapshots, Clock& clock, Rng rng,
                               Executor executor, Executor blocking, LogCoordinatorOptions options)
    : log_(log),
      clock_(clock),
      rng_(rng),
      executor_(std::move(executor)),
      options_(std::move(options)),
      incarnation_rng_(options_.incarnations),
      replayer_(log),
      appender_(log, replayer_, clock, Rng(rng_.next()), appender_options(options_)),
      membership_(options_.broker_id, options_.membership),
      clock_watch_(clock) {
  if (snapshots != nullptr) {
    snapshotter_.emplace(*snapshots, log, replayer_, clock, std::move(blocking),
                         options_.snapshots);
  }
  replayer_.set_after_apply([this] { after_apply(); });
  if (options_.metrics != nullptr) metrics_.emplace(*options_.metrics, clock_);
  // What is read at the start is old.
  replayer_.set_on_followed([this](const RecordHeader& header) {
    if (!loaded_) return;
    const bool differs = clock_watch_.differs(header);
    if (metrics_) metrics_->on_followed(header, differs);
  });
}

LogCoordinator::~LogCoordinator() = default;

void LogCoordinator::hurry() {
  hurried_ = true;
  appender_.hurry();
}

void LogCoordinator::start() { group_.spawn(executor_, run()); }

Task<void> LogCoordinator::run() {
  Backoff backoff(options_.appender.retry_base, options_.appender.retry_cap);
  while (!group_.stopping()) {
    Status loaded = co_await load();
    if (loaded || replayer_.failure()) break;
    log::warn("metadata.load.failed", {{"error", loaded.error()}});
    replayer_.doubt();
    {
      std::lock_guard lock(mutex_);
      loading_error_ = loaded.error();
    }
    co_await group_.sleep(clock_, backoff.next(rng_));
  }
  loaded_ = true;
  clock_watch_.loaded(replayer_.state().tables().time);
  group_.spawn(executor_, appender_.run(group_));
  group_.spawn(executor_, follow());
  group_.spawn(executor_, answer_catch_ups());
  if (snapshotter_) group_.spawn(executor_, snapshotter_->run(group_, options_.broker_id));
  group_.spawn(executor_, keep_membership());
  backoff.reset();
  while (!group_.stopping() && !replayer_.failure()) {
    if (epoch_ >= 0 || hurried_) {
      co_await unregistered_.wait();
      continue;
    }
    Status registered = co_await register_once();
    if (!registered && !replayer_.failure()) co_await group_.sleep(clock_, backoff.next(rng_));
  }
}

Task<Status> LogCoordinator::load() {
  if (snapshotter_ && !snapshot_loaded_) {
    WEIR_CO_CHECK(co_await load_snapshot());
    snapshot_loaded_ = true;
  }
  Status replayed = co_await replay_to_tail();
  // Trimmed meanwhile: a later snapshot has what is missing.
  if (!replayed && replayed.error().code == ErrorCode::kNotFound) snapshot_loaded_ = false;
  co_return replayed;
}

Task<Status> LogCoordinator::load_snapshot() {
  auto loaded = co_await snapshotter_->load();
  if (loaded) {
    if (metrics_ && snapshotter_->repairs()) metrics_->on_snapshot_lost();
    if (*loaded && (*loaded)->position() > replayer_.position()) {
      replayer_.load(std::move(**loaded));
      appender_.after_reload();
    }
    co_return Status{};
  }
  const Error& error = loaded.error();
  if (error.code == ErrorCode::kInvalid) replayer_.fail(error);
  // The whole log gives the same state, if it is still there.
  if (!is_lost(error) || !co_await log_.read(replayer_.position(), 1)) {
    co_return std::unexpected(error);
  }
  log::error("metadata.snapshot.lost", {{"error", error}});
  if (metrics_) metrics_->on_snapshot_lost();
  co_return Status{};
}

Task<Status> LogCoordinator::replay_to_tail() {
  WEIR_CO_CHECK(co_await replayer_.resolve_doubt());
  Position before = replayer_.position();
  WEIR_CO_TRY(Position tail, co_await log_.tail());
  if (tail < before) co_return co_await replayer_.verify();
  co_return co_await replayer_.read_until(tail);
}

Task<Status> LogCoordinator::register_once() {
  const Uuid incarnation = Uuid::from_random(incarnation_rng_.next(), incarnation_rng_.next());
  // Nothing is written to a log of another history, its name least of all.
  WEIR_CO_CHECK(co_await replayer_.resolve_doubt());
  WEIR_CO_TRY(Uuid cluster_id,
              co_await log_.cluster_id(Uuid::from_random(rng_.next(), rng_.next())));
  if (const std::int16_t level = replayer_.state().tables().metadata_level();
      level > options_.metadata_level) {
    replayer_.fail({ErrorCode::kInvalid,
                    fmt::format("the brokers of this cluster agreed on level {} of the metadata "
                                "log; this program knows level {}: run a newer one",
                                level, options_.metadata_level)});
    co_return std::unexpected(*replayer_.failure());
  }
  std::vector<Command> commands;
  if (replayer_.state().tables().cluster_id.is_zero()) {
    commands.push_back(ClusterCreated{.cluster_id = cluster_id});
    commands.push_back(SetFeatureLevel{.feature = std::string(kMetadataFeature),
                                       .level = options_.metadata_level});
  }
  commands.push_back(RegisterBroker{.broker_id = options_.broker_id,
                                    .incarnation = incarnation,
                                    .endpoints = options_.endpoints,
                                    .rack = options_.rack,
                                    .metadata_level = options_.metadata_level});
  RecordHeader header{.broker = options_.broker_id,
                      .time = clock_.wall_ms(),
                      .known = replayer_.state().position(),
                      .known_hash = replayer_.state().chain().hash()};
  WEIR_CO_CHECK(co_await appender_.append_now(header, commands));
  const auto& brokers = replayer_.state().tables().brokers;
  auto own = brokers.find(options_.broker_id);
  if (own == brokers.end() || own->second.image.incarnation != incarnation || own->second.fenced) {
    co_return fail(ErrorCode::kUnavailable, "the registration ended before it was seen");
  }
  BrokerEpoch epoch = own->second.image.epoch;
  replayer_.watch_epoch(epoch,
                        [this](Applied applied) { appender_.on_record(std::move(applied)); });
  appender_.open(options_.broker_id, epoch);
  epoch_ = epoch;
  registered_.notify();
  log::info("metadata.registered", {{"broker", options_.broker_id},
                                    {"epoch", epoch},
                                    {"cluster", replayer_.state().tables().cluster_id}});
  co_return Status{};
}

bool LogCoordinator::is_replaced() const {
  return replayer_.state().tables().brokers.at(options_.broker_id).image.epoch != epoch_;
}

std::optional<Error> LogCoordinator::lost_registration() const {
  const BrokerState& own = replayer_.state().tables().brokers.at(options_.broker_id);
  if (is_replaced()) {
    return Error{
        ErrorCode::kFenced,
        fmt::format("another process registered with node.id {}: every broker needs its own",
                    options_.broker_id)};
  }
  if (own.fenced) {
    return Error{ErrorCode::kFenced,
                 fmt::format("broker epoch {} was ended by another broker", epoch_.load())};
  }
  return std::nullopt;
}

void LogCoordinator::after_apply() {
  if (auto failure = replayer_.failure()) {
    end_epoch(*failure);
    failed_.set(*failure);
    return;
  }
  appender_.write_at(replayer_.state().tables().metadata_level());
  membership_.look(replayer_.state().tables().brokers, clock_.now());
  if (metrics_) metrics_->on_applied(replayer_.state());
  if (epoch_ < 0 || leaving_) return;
  auto lost = lost_registration();
  if (!lost) {
    if (snapshotter_) snapshotter_->consider(options_.broker_id);
    if (next_metadata_level() && !std::exchange(raising_, true)) {
      group_.spawn(executor_, raise_metadata_level());
    }
    return;
  }
  if (metrics_) metrics_->on_fenced();
  log::warn("metadata.fenced", {{"broker", options_.broker_id}, {"error", *lost}});
  // Two processes that register against each other for ever would help nobody.
  if (is_replaced()) {
    replayer_.fail(*lost);
    return;
  }
  end_epoch(*lost);
}

// The level that all brokers know by now, when it is not agreed on yet.
std::optional<std::int16_t> LogCoordinator::next_metadata_level() const {
  const Tables& tables = replayer_.state().tables();
  const std::int16_t level = std::min(options_.metadata_level, tables.common_metadata_level());
  return level > tables.metadata_level() ? std::optional(level) : std::nullopt;
}

Task<void> LogCoordinator::raise_metadata_level() {
  if (const auto level = next_metadata_level()) {
    auto raised =
        co_await submit(SetFeatureLevel{.feature = std::string(kMetadataFeature), .level = *level});
    if (raised && raised->error == kafka::KafkaError::kNone) {
      log::info("metadata.level.raised", {{"level", *level}});
    }
  }
  raising_ = false;
}

void LogCoordinator::end_epoch(const Error& reason) {
  epoch_ = -1;
  appender_.close(reason);
  unregistered_.notify();
  registered_.notify();
  if (snapshotter_) snapshotter_->wake();
}

Task<void> LogCoordinator::follow() {
  Backoff backoff(options_.appender.retry_base, options_.appender.retry_cap);
  while (!group_.stopping() && !replayer_.failure()) {
    Position seen = replayer_.position();
    if (appender_.appending()) {
      // The append brings the entries of others along.
      co_await appender_.appended().wait_until(clock_, clock_.now() + options_.poll_interval);
      continue;
    }
    MonoTime deadline = clock_.now() + std::max(options_.poll_interval, log_.look_interval());
    co_await log_.wait_past(seen, deadline);
    if (group_.stopping() || appender_.appending() || replayer_.position() != seen) continue;
    Status status = co_await replayer_.read_more();
    // Woken for nothing: the log may have become shorter.
    bool woken = clock_.now() < deadline;
    if (status && woken && replayer_.position() == seen) status = co_await replayer_.verify();
    if (!status && status.error().code == ErrorCode::kNotFound && snapshotter_) {
      // It was trimmed while this broker was behind.
      snapshot_loaded_ = false;
      status = co_await load();
    }
    appender_.note_read(status);
    if (status) {
      backoff.reset();
    } else {
      co_await group_.sleep(clock_, backoff.next(rng_));
    }
  }
}

Task<void> LogCoordinator::answer_catch_ups() {
  while (!group_.stopping()) {
    co_await catch_up_asked_.wait();
    std::vector<CatchUp> asked;
    {
      std::lock_guard lock(mutex_);
      asked.swap(catch_ups_);
    }
    if (asked.empty()) continue;
    // Those who come from here on wait for the next tail(): this one may already have been
    // answered.
    Status status;
    if (auto failure = replayer_.failure()) {
      status = std::unexpected(*failure);
    } else {
      status = co_await replay_to_tail();
      const bool confirm = std::ranges::any_of(asked, &CatchUp::confirm);
      if (status && confirm) status = co_await replayer_.confirm();
      if (!replayer_.failure()) appender_.note_read(status);
    }
    for (CatchUp& waiter : asked) waiter.done.set(status);
  }
  std::lock_guard lock(mutex_);
  for (CatchUp& waiter : catch_ups_) waiter.done.set(std::unexpected(stopping()));
}

Task<Status> LogCoordinator::ask_to_catch_up(bool confirm) {
  OneShot<Status> done;
  {
    std::lock_guard lock(mutex_);
    if (group_.stopping()) co_return std::unexpected(stopping());
    if (!loaded_) co_return std::unexpected(loading_error_);
    catch_ups_.push_back({.done = done, .confirm = confirm});
  }
  catch_up_asked_.notify();
  co_return co_await done.wait();
}

Task<Result<CommandResult>> LogCoordinator::submit(Command command) {
  co_return co_await appender_.submit(std::move(command));
}

Task<Result<std::vector<DeletableObject>>> LogCoordinator::deletable_objects(Position until,
                                                                             std::size_t limit) {
  auto look = [this, until, limit] {
    return replayer_.state().tables().objects.deletable(until, limit);
  };
  auto objects = co_await run_on(executor_, look);
  if (objects.empty()) co_return objects;
  WEIR_CO_CHECK(co_await catch_up_and_confirm());
  co_return co_await run_on(executor_, look);
}

Task<MetadataStat> LogCoordinator::stat() {
  co_return co_await run_on(executor_, [this] { return stat_of(replayer_.state()); });
}

Task<Result<std::vector<ObjectId>>> LogCoordinator::orphans(std::vector<ObjectId> ids) {
  auto look = [this, &ids] {
    return orphans_among(replayer_.state().tables(), replayer_.state().position(), ids);
  };
  auto found = co_await run_on(executor_, look);
  if (found.empty()) co_return found;
  WEIR_CO_CHECK(co_await catch_up_and_confirm());
  co_return co_await run_on(executor_, look);
}

Status LogCoordinator::status() const {
  if (auto failure = replayer_.failure()) return std::unexpected(*failure);
  if (!loaded_) {
    std::lock_guard lock(mutex_);
    return std::unexpected(loading_error_);
  }
  if (auto outage = appender_.outage()) {
    return std::unexpected(outage->in("the metadata log is down"));
  }
  if (epoch_ < 0) {
    return fail(ErrorCode::kUnavailable, "the broker is not registered in the metadata log yet");
  }
  return {};
}

Task<Status> LogCoordinator::wait_registered() {
  while (true) {
    if (auto failure = replayer_.failure()) co_return std::unexpected(*failure);
    if (group_.stopping()) co_return std::unexpected(stopping());
    if (epoch_ >= 0) co_return Status{};
    co_await registered_.wait();
  }
}

Task<void> LogCoordinator::leave() {
  co_await appender_.drain(stopping());
  if (epoch_ >= 0 && !appender_.outage()) {
    RecordHeader header{.broker = options_.broker_id,
                        .epoch = epoch_,
                        .sequence = std::numeric_limits<std::int64_t>::max(),
                        .time = clock_.wall_ms(),
                        .known = replayer_.state().position(),
                        .known_hash = replayer_.state().chain().hash()};
    std::vector<Command> commands{FenceBroker{.broker_id = options_.broker_id, .epoch = epoch_}};
    leaving_ = true;
    static_cast<void>(co_await appender_.append_now(header, commands));
  }
  end_epoch(stopping());
  failed_.set(stopping());
  group_.stop();
  catch_up_asked_.notify();
  appender_.wake();
  if (snapshotter_) snapshotter_->wake();
}

Task<void> LogCoordinator::stop() {
  group_.spawn(executor_, leave());
  co_await group_.join();
}

}  // namespace weir::metadata
