// The world of a simulation: virtual time, machines, and the order in which they run. Everything is
// on one thread, and everything that is random comes from one seed, so a seed replays exactly.
//
// A machine has a loop, a clock of its own that drifts and is set wrong, and may be paused as
// SIGSTOP does: what is due waits until it goes on.
#pragma once
#include "base/bytes.h"
#include "runtime/clock.h"
#include "runtime/rng.h"
#include "sim/run_queue.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace weir::sim {

class World;

// Local time is world time, faster or slower by `rate`.
class SimClock final : public Clock {
 public:
  SimClock(World& world, double rate, std::int64_t error_ms)
      : world_(world), rate_(rate), error_ms_(error_ms) {}

  [[nodiscard]] TimestampMs wall_ms() const override;
  [[nodiscard]] MonoTime now() const override;
  std::shared_ptr<Timer> call_at(MonoTime when, Executor executor,
                                 std::move_only_function<void()> callback) override;
  // The wall clock is set: by so much it is wrong from now on.
  void set_error(std::int64_t ms) { error_ms_ = ms; }

 private:
  World& world_;
  const double rate_;
  std::int64_t error_ms_;
};

class Machine {
 public:
  Machine(World& world, double rate, std::int64_t error_ms) : clock_(world, rate, error_ms) {}

  [[nodiscard]] Executor executor() { return queue_.handle(); }
  [[nodiscard]] SimClock& clock() { return clock_; }
  void pause() { paused_ = true; }
  void resume() { paused_ = false; }
  [[nodiscard]] bool paused() const { return paused_; }
  // Runs up to `most` functions; how many there were.
  std::size_t run(std::size_t most);

 private:
  RunQueue queue_;
  SimClock clock_;
  bool paused_ = false;
};

class World {
 public:
  explicit World(std::uint64_t seed) : rng_(seed) {}

  // Lives as long as the world.
  Machine& add_machine(double rate = 1, std::int64_t wall_error_ms = 0);
  [[nodiscard]] MonoTime now() const { return now_; }
  // An Rng of its own for a part, so that parts do not disturb each other's draws.
  [[nodiscard]] Rng fork() { return Rng(rng_.next()); }

  // Runs everything until `done`, or until `end`; true: done.
  bool run_until(const std::function<bool()>& done, MonoTime end);
  bool run_until(const std::function<bool()>& done, Duration most) {
    return run_until(done, now_ + most);
  }

  // What happened, for the hash of all events that tells two runs apart; with what was said in it.
  void note(std::string_view event, std::uint64_t detail = 0);
  void note(std::string_view event, Bytes said);
  void note(std::string_view event, const Chain& said);
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

  // From now on what is told of a subject ("orders/2", a group, an object) is kept, and what
  // concerns all (""), until end_trace().
  void trace(std::string subject) { trace_.subject = std::move(subject); }
  // Something about the subject is seen to be wrong; the first time counts.
  void end_trace(std::string_view subject);
  // When something was seen to be wrong for the first time.
  [[nodiscard]] std::optional<MonoTime> first_wrong() const { return first_wrong_; }
  [[nodiscard]] const std::deque<std::string>& traced() const { return trace_.lines; }
  void tell(std::string_view subject, const std::function<std::string()>& text);

  std::shared_ptr<Timer> call_at(MonoTime when, Executor executor,
                                 std::move_only_function<void()> callback);

 private:
  struct Trace {
    std::optional<std::string> subject;
    std::deque<std::string> lines;
    bool has_ended = false;
  };
  class Entry;
  // In order of time, then of being set.
  struct Due {
    MonoTime when;
    std::uint64_t number = 0;
    std::shared_ptr<Entry> entry;
    friend bool operator<(const Due& a, const Due& b) {
      return std::tie(b.when, b.number) < std::tie(a.when, a.number);
    }
  };
  std::shared_ptr<Entry> pop_timer();
  bool advance(MonoTime end);
  bool run_machines();

  Rng rng_;
  MonoTime now_{};
  std::vector<Due> timers_;  // a heap, the next in front
  std::uint64_t timers_set_ = 0;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::uint64_t hash_ = 0;
  std::uint64_t events_ = 0;
  Trace trace_;
  std::optional<MonoTime> first_wrong_;
};

}  // namespace weir::sim
