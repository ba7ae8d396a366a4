#include "sim/world.h"

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace weir::sim {
namespace {

constexpr TimestampMs kStart = 1'800'000'000'000;

}  // namespace

TimestampMs SimClock::wall_ms() const {
  return kStart + error_ms_ +
         std::chrono::duration_cast<std::chrono::milliseconds>(world_.now().time_since_epoch())
             .count();
}

MonoTime SimClock::now() const {
  const auto world = static_cast<double>(world_.now().time_since_epoch().count());
  return MonoTime(Duration(static_cast<Duration::rep>(world * rate_)));
}

std::shared_ptr<Timer> SimClock::call_at(MonoTime when, Executor executor,
                                         std::move_only_function<void()> callback) {
  // Rounded up, so that the local time has come when the timer fires.
  const auto local = static_cast<double>(when.time_since_epoch().count());
  const MonoTime world(Duration(static_cast<Duration::rep>(local / rate_) + 2));
  return world_.call_at(world, std::move(executor), std::move(callback));
}

std::size_t Machine::run(std::size_t most) {
  std::size_t count = 0;
  while (!paused_ && count < most && queue_.run_one()) ++count;
  return count;
}

class World::Entry final : public Timer {
 public:
  Entry(Executor executor, std::move_only_function<void()> callback)
      : executor_(std::move(executor)), callback_(std::move(callback)) {}
  void cancel() override {
    cancelled_ = true;
    callback_ = nullptr;
  }
  [[nodiscard]] bool cancelled() const { return cancelled_; }
  void post(std::shared_ptr<Entry> self) {
    boost::asio::post(executor_, [self = std::move(self)] {
      if (self->cancelled_) return;
      auto callback = std::exchange(self->callback_, nullptr);
      self->cancelled_ = true;
      callback();
    });
  }

 private:
  Executor executor_;
  std::move_only_function<void()> callback_;
  bool cancelled_ = false;
};

Machine& World::add_machine(double rate, std::int64_t wall_error_ms) {
  return *machines_.emplace_back(std::make_unique<Machine>(*this, rate, wall_error_ms));
}

std::shared_ptr<Timer> World::call_at(MonoTime when, Executor executor,
                                      std::move_only_function<void()> callback) {
  auto entry = std::make_shared<Entry>(std::move(executor), std::move(callback));
  timers_.push_back({std::max(when, now_), timers_set_++, entry});
  std::push_heap(timers_.begin(), timers_.end());
  return entry;
}

bool World::run_until(const std::function<bool()>& done, MonoTime end) {
  while (!done()) {
    if (run_machines()) continue;
    if (!advance(end)) return done();
  }
  return true;
}

// Each machine does a little, in an order of its own each time.
bool World::run_machines() {
  bool any = false;
  const std::size_t first = rng_.below(machines_.size());
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    Machine& machine = *machines_[(first + i) % machines_.size()];
    any |= machine.run(1 + rng_.below(16)) > 0;
  }
  return any;
}

std::shared_ptr<World::Entry> World::pop_timer() {
  std::pop_heap(timers_.begin(), timers_.end());
  std::shared_ptr<Entry> entry = std::move(timers_.back().entry);
  timers_.pop_back();
  return entry;
}

bool World::advance(MonoTime end) {
  while (!timers_.empty() && timers_.front().entry->cancelled()) pop_timer();
  if (timers_.empty() || timers_.front().when > end) {
    now_ = std::max(now_, end);
    return false;
  }
  now_ = timers_.front().when;
  while (!timers_.empty() && timers_.front().when <= now_) {
    std::shared_ptr<Entry> entry = pop_timer();
    if (!entry->cancelled()) entry->post(entry);
  }
  return true;
}

void World::end_trace(std::string_view subject) {
  if (!first_wrong_) first_wrong_ = now_;
  if (trace_.subject == subject) trace_.has_ended = true;
}

void World::tell(std::string_view subject, const std::function<std::string()>& text) {
  constexpr std::size_t kLines = 100'000;
  if (!trace_.subject || trace_.has_ended || (!subject.empty() && subject != *trace_.subject))
    return;
  if (trace_.lines.size() == kLines) trace_.lines.pop_front();
  const double at = std::chrono::duration<double>(now_.time_since_epoch()).count();
  trace_.lines.push_back(fmt::format("{:10.4f} s  {}", at, text()));
}

void World::note(std::string_view event, std::uint64_t detail) {
  ++events_;
  const std::uint64_t words[] = {hash_, static_cast<std::uint64_t>(now_.time_since_epoch().count()),
                                 detail, XXH3_64bits(event.data(), event.size())};
  hash_ = XXH3_64bits(words, sizeof words);
}

void World::note(std::string_view event, Bytes said) {
  note(event, XXH3_64bits(said.data(), said.size()));
}

void World::note(std::string_view event, const Chain& said) {
  note(event, said.size());
  for (const Slice& part : said.slices()) note(event, part.bytes());
}

}  // namespace weir::sim
