#include "metadata/replayer.h"

#include "base/planted.h"
#include "metadata/listeners.h"
#include "runtime/log.h"

#include <fmt/format.h>

namespace weir::metadata {

void Replayer::load(State state) {
  state_ = std::move(state);
  const Changes changes = state_.publish_all(readers_);
  position_.store(state_.position(), std::memory_order_release);
  // Everyone looks at all of it again.
  tell_listeners(listeners_, changes);
  if (after_apply_) after_apply_();
}

void Replayer::watch_epoch(BrokerEpoch epoch, OnOwnRecord on_own_record) {
  own_epoch_ = epoch;
  on_own_record_ = std::move(on_own_record);
}

std::optional<Error> Replayer::failure() const {
  std::lock_guard lock(failure_mutex_);
  return failure_;
}

void Replayer::fail(Error error) {
  {
    std::lock_guard lock(failure_mutex_);
    if (failure_) return;
    log::error("metadata.failed", {{"position", position()}, {"error", error}});
    failure_ = std::move(error);
  }
  if (after_apply_) after_apply_();
}

Status Replayer::apply(const std::vector<LogEntry>& entries) {
  if (auto failed = failure()) return std::unexpected(*failed);
  std::vector<Applied> own;
  Status status;
  for (const LogEntry& entry : entries) {
    if (entry.position <= state_.position()) continue;
    applied_bytes_ += entry.bytes.size();
    auto applied = state_.apply(entry, own_epoch_);
    if (!applied) {
      fail(applied.error());
      status = std::unexpected(applied.error());
      break;
    }
    if (applied->header.epoch == own_epoch_ && own_epoch_ >= 0) {
      own.push_back(std::move(*applied));
    } else if (on_followed_) {
      on_followed_(applied->header);
    }
  }
  Changes changes = state_.publish(readers_);
  position_.store(state_.position(), std::memory_order_release);
  tell_listeners(listeners_, changes);
  // Last, so that who waits for a result sees its effect.
  for (Applied& applied : own) on_own_record_(std::move(applied));
  if (after_apply_) after_apply_();
  return status;
}

Task<Status> Replayer::confirm() {
  doubt();
  return resolve_doubt();
}

Task<Status> Replayer::resolve_doubt() {
  if (auto failed = failure()) co_return std::unexpected(*failed);
  while (settled_doubts_ != doubts_ || verified_incarnation_ != log_.incarnation()) {
    // What comes up meanwhile is not settled by this look at the log.
    const std::uint64_t doubts = doubts_;
    const std::uint64_t incarnation = log_.incarnation();
    WEIR_CO_CHECK(co_await verify());
    settled_doubts_ = doubts;
    verified_incarnation_ = incarnation;
  }
  co_return Status{};
}

Task<Status> Replayer::read_more() {
  WEIR_CO_CHECK(co_await resolve_doubt());
  WEIR_CO_TRY(std::vector<LogEntry> entries, co_await log_.read(position(), kReadBytes));
  // Another connection may have answered than the one that was verified.
  WEIR_CO_CHECK(co_await resolve_doubt());
  co_return apply(entries);
}

Task<Status> Replayer::read_until(Position target) {
  while (position() < target) {
    Position before = position();
    WEIR_CO_CHECK(co_await read_more());
    if (position() == before) co_return co_await check_end(before, target);
  }
  co_return Status{};
}

Task<Status> Replayer::verify() {
  if (auto failed = failure()) co_return std::unexpected(*failed);
  Position at = position();
  if (at == 0 || planted(Bug::kRestoredLogUnnoticed)) co_return Status{};
  // Nothing: a snapshot was loaded, and no entry came since. Then the log must not be shorter.
  std::optional<std::uint64_t> before = state_.chain().at(at - 1);
  std::uint64_t expected = state_.chain().hash();
  auto entries = co_await log_.read(at - 1, 1);
  if (!entries) {
    // Trimmed away: then it was there, behind a snapshot.
    if (entries.error().code == ErrorCode::kNotFound) co_return Status{};
    co_return std::unexpected(entries.error());
  }
  if (entries->empty()) co_return co_await check_end(at - 1, at);
  bool same = entries->front().position == at &&
              (!before || HashChain::extend(*before, entries->front().bytes.bytes()) == expected);
  if (same) co_return Status{};
  co_return diverged(fmt::format("at position {}: it holds another entry there", at));
}

// A read that finds nothing is no proof of the end: a log in the store also answers so where it was
// trimmed past the place that it looks at. tail() looks for the end, wherever that is by now.
Task<Status> Replayer::check_end(Position after, Position known) {
  if (planted(Bug::kRestoredLogUnnoticed)) co_return Status{};
  WEIR_CO_TRY(const Position tail, co_await log_.tail());
  if (tail > after) {
    co_return weir::fail(
        ErrorCode::kUnavailable,
        fmt::format("the metadata log ends at {} and shows nothing after {}", tail, after));
  }
  co_return diverged(fmt::format("at position {}: it ends before it, at {}", known, tail));
}

Status Replayer::diverged(const std::string& how) {
  Error error{ErrorCode::kCorrupt, "metadata log diverged " + how};
  fail(error);
  return std::unexpected(error);
}

}  // namespace weir::metadata
