#include "metadata/memory_coordinator.h"

#include "metadata/listeners.h"
#include "metadata/state/snapshot_codec.h"
#include "runtime/run_on.h"

namespace weir::metadata {

MemoryCoordinator::MemoryCoordinator(Clock& clock, Executor executor, BrokerId broker)
    : clock_(clock), executor_(std::move(executor)), broker_(broker) {
  append({.broker = broker_}, ClusterCreated{.cluster_id = Uuid::from_random(1, 2)});
  apply_as(broker_, Heartbeat{});
}

MemoryCoordinator::~MemoryCoordinator() = default;

Applied MemoryCoordinator::append(RecordHeader header, const Command& command) {
  header.time = clock_.wall_ms();
  header.known = state_.position();
  header.known_hash = state_.chain().hash();
  auto encoded = encode_command(command);
  LogEntry entry{state_.position() + 1, encode_record(header, 1, *encoded)};
  auto applied = state_.apply(entry);
  Changes changes = state_.publish(readers_);
  metadata::tell_listeners(listeners_, changes);
  return std::move(*applied);
}

Result<CommandResult> MemoryCoordinator::apply_encoded(BrokerId broker, const Command& command) {
  if (auto encoded = encode_command(command); !encoded) return std::unexpected(encoded.error());
  std::lock_guard lock(mutex_);
  Writer& writer = writers_[broker];
  if (writer.epoch < 0) {
    Uuid incarnation = Uuid::from_random(static_cast<std::uint64_t>(broker),
                                         static_cast<std::uint64_t>(state_.position()));
    std::vector<Endpoint> endpoints{{"PLAINTEXT", "127.0.0.1", 9092 + broker, "PLAINTEXT"}};
    Applied registered =
        append({.broker = broker}, RegisterBroker{.broker_id = broker,
                                                  .incarnation = incarnation,
                                                  .endpoints = std::move(endpoints)});
    writer.epoch = registered.results.front().value;
  }
  Applied applied = append(
      {.broker = broker, .epoch = writer.epoch, .sequence = writer.next_sequence++}, command);
  if (applied.outcome != Applied::Outcome::kApplied) {
    return fail(ErrorCode::kFenced, "the epoch of this broker has ended");
  }
  return std::move(applied.results.front());
}

CommandResult MemoryCoordinator::apply_as(BrokerId broker, Command command) {
  auto result = apply_encoded(broker, command);
  if (result) return std::move(*result);
  return {.error = result.error().code == ErrorCode::kFenced ? kafka::KafkaError::kStaleBrokerEpoch
                                                             : kafka::KafkaError::kInvalidRequest};
}

void MemoryCoordinator::settle(Waiting& waiting) {
  if (failure_) {
    waiting.done.set(std::unexpected(*failure_));
  } else {
    waiting.done.set(apply_encoded(broker_, waiting.command));
  }
}

void MemoryCoordinator::reload() {
  std::lock_guard lock(mutex_);
  std::vector<DecodedPart> parts;
  for (const auto& part : plan_snapshot(std::make_shared<const FrozenState>(freeze(state_))))
    parts.push_back(std::move(*decode_part(part.encode())));
  state_ = std::move(*assemble(std::move(parts)));
  metadata::tell_listeners(listeners_, state_.publish_all(readers_));
}

Task<Result<CommandResult>> MemoryCoordinator::submit(Command command) {
  OneShot<Result<CommandResult>> done;
  boost::asio::post(executor_, [this, done, command = std::move(command)]() mutable {
    std::lock_guard lock(mutex_);
    ++submitted_;
    Waiting waiting{std::move(command), done};
    if (held_) {
      waiting_.push_back(std::move(waiting));
    } else {
      settle(waiting);
    }
  });
  co_return co_await done.wait();
}

Task<Status> MemoryCoordinator::catch_up() {
  if (auto released = wait_if_reads_are_held()) co_await released->wait();
  co_return co_await run_on(executor_, [this]() -> Status {
    std::lock_guard lock(mutex_);
    if (failure_) return std::unexpected(*failure_);
    return {};
  });
}

Task<Result<std::vector<DeletableObject>>> MemoryCoordinator::deletable_objects(Position until,
                                                                                std::size_t limit) {
  using Objects = std::vector<DeletableObject>;
  co_return co_await run_on(executor_, [this, until, limit]() -> Result<Objects> {
    std::lock_guard lock(mutex_);
    if (failure_) return std::unexpected(*failure_);
    return state_.tables().objects.deletable(until, limit);
  });
}

Task<Result<std::vector<ObjectId>>> MemoryCoordinator::orphans(std::vector<ObjectId> ids) {
  co_return co_await run_on(executor_, [this, &ids]() -> Result<std::vector<ObjectId>> {
    std::lock_guard lock(mutex_);
    if (failure_) return std::unexpected(*failure_);
    return orphans_among(state_.tables(), state_.position(), ids);
  });
}

void MemoryCoordinator::add_listener(CommitListener& listener) {
  std::lock_guard lock(mutex_);
  listeners_.push_back(&listener);
}

BrokerEpoch MemoryCoordinator::broker_epoch() const {
  std::lock_guard lock(mutex_);
  if (refusal_ && refusal_->code == ErrorCode::kFenced) return -1;
  auto found = writers_.find(broker_);
  return found == writers_.end() ? -1 : found->second.epoch;
}

Position MemoryCoordinator::applied() const {
  std::lock_guard lock(mutex_);
  return state_.position();
}

void MemoryCoordinator::set_failure(std::optional<Error> error) {
  std::lock_guard lock(mutex_);
  failure_ = std::move(error);
}

void MemoryCoordinator::set_refusal(std::optional<Error> error) {
  std::lock_guard lock(mutex_);
  refusal_ = std::move(error);
}

std::optional<Error> MemoryCoordinator::refusal() const {
  std::lock_guard lock(mutex_);
  return refusal_;
}

void MemoryCoordinator::hold() {
  std::lock_guard lock(mutex_);
  held_ = true;
}

std::optional<OneShot<bool>> MemoryCoordinator::wait_if_reads_are_held() {
  std::lock_guard lock(mutex_);
  if (!reads_held_) return std::nullopt;
  return reads_.emplace_back();
}

void MemoryCoordinator::hold_reads() {
  std::lock_guard lock(mutex_);
  reads_held_ = true;
}

void MemoryCoordinator::release_reads() {
  std::lock_guard lock(mutex_);
  reads_held_ = false;
  for (OneShot<bool>& waiting : std::exchange(reads_, {})) waiting.set(true);
}

void MemoryCoordinator::release() {
  std::lock_guard lock(mutex_);
  held_ = false;
  while (!waiting_.empty()) {
    settle(waiting_.front());
    waiting_.pop_front();
  }
}

std::size_t MemoryCoordinator::submitted() const {
  std::lock_guard lock(mutex_);
  return submitted_;
}

}  // namespace weir::metadata
