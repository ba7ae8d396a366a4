#include "storage/conditional_put_probe.h"

#include "runtime/task_group.h"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

namespace weir::storage {
namespace {

constexpr int kRaces = 3;
constexpr int kRacers = 8;

std::unexpected<Error> refuse(std::string_view name, std::string_view what) {
  return fail(ErrorCode::kInvalid,
              fmt::format("object store {} does not honour conditional writes (If-None-Match: *): "
                          "{}. It can hold records, but not the metadata log; use another store, "
                          "or another metadata.log.url",
                          name, what));
}

class Probe {
 public:
  Probe(ObjectStore& store, std::string name, Rng& rng)
      : store_(store), name_(std::move(name)), rng_(rng) {}

  Task<Status> run() {
    Status done = co_await two_in_turn();
    for (int i = 0; i < kRaces && done; ++i) done = co_await race();
    // What is left is small; it must not hide what was found out.
    (void)co_await store_.remove(keys_);
    co_return done;
  }

 private:
  Task<Status> put(std::string key, std::string body) {
    return store_.put(std::move(key), Chain(Slice::copy_of(body)), {.if_absent = true});
  }
  std::string new_key() {
    keys_.push_back(fmt::format("probe/{:016x}", rng_.next()));
    return keys_.back();
  }
  [[nodiscard]] std::unexpected<Error> not_found_out(const Error& error) const {
    if (error.code == ErrorCode::kInvalid) return refuse(name_, error.message);
    return std::unexpected(error.in("probing conditional writes of " + name_));
  }

  Task<Status> expect_body(const std::string& key, const std::string& body) {
    auto stored = co_await store_.get(key);
    if (!stored) co_return not_found_out(stored.error());
    if (as_text(stored->bytes()) == body) co_return Status();
    co_return refuse(name_, "a later write replaced an earlier one");
  }

  Task<Status> two_in_turn() {
    const std::string key = new_key();
    Status first = co_await put(key, "first");
    if (!first) co_return not_found_out(first.error());
    Status second = co_await put(key, "second");
    if (second) co_return refuse(name_, "a second write to the same key succeeded");
    if (second.error().code != ErrorCode::kConflict) co_return not_found_out(second.error());
    co_return co_await expect_body(key, "first");
  }

  Task<void> contend(const std::string& key, int racer, std::vector<Status>& outcomes) {
    Status outcome = co_await put(key, fmt::format("racer {}", racer));
    outcomes[static_cast<std::size_t>(racer)] = std::move(outcome);
  }

  Task<Status> race() {
    const std::string key = new_key();
    std::vector<Status> outcomes(kRacers);
    TaskGroup group;
    auto executor = co_await boost::asio::this_coro::executor;
    for (int i = 0; i < kRacers; ++i) group.spawn(executor, contend(key, i, outcomes));
    co_await group.join();
    int winners = 0;
    std::string body;
    for (int i = 0; i < kRacers; ++i) {
      const Status& outcome = outcomes[static_cast<std::size_t>(i)];
      if (outcome) {
        ++winners;
        body = fmt::format("racer {}", i);
      } else if (outcome.error().code != ErrorCode::kConflict) {
        co_return not_found_out(outcome.error());
      }
    }
    if (winners != 1) {
      co_return refuse(
          name_, fmt::format("of {} writes at the same moment {} succeeded", kRacers, winners));
    }
    co_return co_await expect_body(key, body);
  }

  ObjectStore& store_;
  const std::string name_;
  Rng& rng_;
  std::vector<ObjectKey> keys_;
};

}  // namespace

Task<Status> probe_conditional_put(ObjectStore& store, std::string name, Rng& rng) {
  Probe probe(store, std::move(name), rng);
  co_return co_await probe.run();
}

}  // namespace weir::storage
