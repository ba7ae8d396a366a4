#include "storage/hedging_store.h"

#include "runtime/notifier.h"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <bit>

namespace weir::storage {

// Up to two requests for one call. Touched on the caller's executor only.
template <typename Answer>
struct HedgingStore::Race {
  std::array<std::optional<Answer>, 2> answers;
  std::size_t started = 1;
  Notifier changed;

  // The success, or when all have failed the error of the first.
  std::optional<Answer> outcome() {
    std::size_t failed = 0;
    for (std::optional<Answer>& answer : answers) {
      if (answer && *answer) return std::move(answer);
      failed += answer ? 1 : 0;
    }
    if (failed == started) return std::move(answers[0]);
    return std::nullopt;
  }
  [[nodiscard]] bool won_by_second() const { return answers[1] && answers[1]->has_value(); }
};

void HedgingStore::Window::add(Duration took) {
  times_[next_] = took;
  next_ = (next_ + 1) % times_.size();
  size_ = std::min(size_ + 1, times_.size());
}

Duration HedgingStore::Window::quantile(double of) const {
  auto sorted = times_;
  auto end = sorted.begin() + static_cast<std::ptrdiff_t>(size_);
  auto at = sorted.begin() + static_cast<std::ptrdiff_t>(of * static_cast<double>(size_ - 1));
  std::nth_element(sorted.begin(), at, end);
  return *at;
}

HedgingStore::HedgingStore(ObjectStore& inner, Clock& clock, MetricsRegistry& registry,
                           const HedgePolicy& policy)
    : inner_(inner), clock_(clock), policy_(policy) {
  for (std::size_t i = 0; i < hedges_.size(); ++i) {
    MetricLabels labels = {{"operation", i == 0 ? "put" : "get"}};
    hedges_[i] = &registry.counter(
        "weir_object_store_hedges_total",
        "Requests that were sent a second time because the first took long.", labels);
    won_[i] = &registry.counter("weir_object_store_hedges_won_total",
                                "Second requests that were answered before the first.", labels);
  }
}

HedgingStore::Kind HedgingStore::kind_of(Kind::Operation operation, std::uint64_t bytes) {
  return {operation, static_cast<int>(std::bit_width(bytes) + 1) / 2};
}

std::optional<Duration> HedgingStore::begin(Kind kind) {
  if (policy_.budget <= 0) return std::nullopt;
  std::lock_guard lock(mutex_);
  tokens_ = std::min(policy_.burst, tokens_ + policy_.budget);
  const Window& window = windows_[kind];
  if (window.size() < policy_.samples_min) return std::nullopt;
  return std::max(policy_.delay_min, window.quantile(policy_.quantile));
}

bool HedgingStore::take_token() {
  std::lock_guard lock(mutex_);
  if (tokens_ < 1 || running_ >= policy_.running_max) return false;
  tokens_ -= 1;
  ++running_;
  return true;
}

void HedgingStore::record(Kind kind, Duration took) {
  if (policy_.budget <= 0) return;
  std::lock_guard lock(mutex_);
  windows_[kind].add(took);
}

template <typename Answer, typename Call>
Task<void> HedgingStore::attempt(std::shared_ptr<Race<Answer>> race, std::size_t index, Kind kind,
                                 Call call) {
  MonoTime start = clock_.now();
  Answer answer = co_await call();
  // Only first requests tell how long calls take: the second ones are those that met bad luck.
  if (index == 0 && answer) record(kind, clock_.now() - start);
  if (index == 1) {
    std::lock_guard lock(mutex_);
    --running_;
  }
  race->answers[index] = std::move(answer);
  race->changed.notify();
}

template <typename Answer, typename Call>
Task<Answer> HedgingStore::hedge(Kind kind, Call call) {
  std::optional<Duration> delay = begin(kind);
  auto race = std::make_shared<Race<Answer>>();
  if (!delay) {
    co_await attempt<Answer>(race, 0, kind, call);
    co_return *race->outcome();
  }
  const auto operation = static_cast<std::size_t>(kind.operation);
  const MonoTime patience = clock_.now() + *delay;
  auto executor = co_await boost::asio::this_coro::executor;
  losers_.spawn(executor, attempt<Answer>(race, 0, kind, call));
  std::optional<Answer> outcome;
  while (!outcome && race->started == 1) {
    bool in_time = co_await race->changed.wait_until(clock_, patience);
    outcome = race->outcome();
    if (outcome || in_time) continue;
    if (!take_token()) break;
    hedges_[operation]->add();
    race->started = 2;
    losers_.spawn(executor, attempt<Answer>(race, 1, kind, call));
  }
  while (!outcome) {
    co_await race->changed.wait();
    bool second = race->won_by_second() && !race->answers[0];
    outcome = race->outcome();
    if (outcome && second) won_[operation]->add();
  }
  co_return *std::move(outcome);
}

Task<Status> HedgingStore::put(ObjectKey key, Chain body, PutOptions options) {
  // Of two conditional puts one is told that the other was there first.
  if (options.if_absent) return inner_.put(std::move(key), std::move(body), options);
  Kind kind = kind_of(Kind::Operation::kPut, body.size());
  return hedge<Status>(kind, [this, key = std::move(key), body = std::move(body), options] {
    return inner_.put(key, body, options);
  });
}

Task<Result<Slice>> HedgingStore::get(ObjectKey key) {
  return hedge<Result<Slice>>(kind_of(Kind::Operation::kGet, 0),
                              [this, key = std::move(key)] { return inner_.get(key); });
}

Task<Result<Slice>> HedgingStore::get_range(ObjectKey key, ByteRange range) {
  return hedge<Result<Slice>>(
      kind_of(Kind::Operation::kGet, range.count),
      [this, key = std::move(key), range] { return inner_.get_range(key, range); });
}

Task<Result<ObjectInfo>> HedgingStore::head(ObjectKey key) { return inner_.head(std::move(key)); }

Task<Status> HedgingStore::remove(std::vector<ObjectKey> keys) {
  return inner_.remove(std::move(keys));
}

Task<Result<ListPage>> HedgingStore::list(std::string prefix, std::string after,
                                          std::size_t limit) {
  return inner_.list(std::move(prefix), std::move(after), limit);
}

}  // namespace weir::storage
