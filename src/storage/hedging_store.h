// Sends a put or a get a second time when the first takes longer than such calls usually do (their
// running 95th percentile), and answers with whichever succeeds first. A budget keeps the extra
// requests few.
//
// What loses runs on to its own end: it may write the object once more, with the same bytes, a
// while after the put has been answered, and holds its body until then; at most running_max do. A
// put with if_absent is never hedged. Below a RetryingStore. Thread-safe; callers' executors are
// serial. The store below, the clock and the registry outlive it; join() before it dies.
#pragma once
#include "runtime/clock.h"
#include "runtime/metrics.h"
#include "runtime/task_group.h"
#include "storage/object_store.h"

#include <array>
#include <map>
#include <mutex>
#include <optional>

namespace weir::storage {

struct HedgePolicy {
  double quantile = 0.95;
  // No second request sooner, and none before so many calls of a kind have been seen.
  Duration delay_min = std::chrono::milliseconds(20);
  std::size_t samples_min = 20;
  // Second requests for one call, in the long run, and saved up. Zero: there are none.
  double budget = 0.05;
  double burst = 10;
  std::size_t running_max = 16;
};

class HedgingStore final : public ObjectStore {
 public:
  HedgingStore(ObjectStore& inner, Clock& clock, MetricsRegistry& registry,
               const HedgePolicy& policy = {});

  // Until what lost has ended; no calls come meanwhile.
  Task<void> join() { return losers_.join(); }

  Task<Status> put(ObjectKey key, Chain body, PutOptions options) override;
  Task<Result<Slice>> get(ObjectKey key) override;
  Task<Result<Slice>> get_range(ObjectKey key, ByteRange range) override;
  Task<Result<ObjectInfo>> head(ObjectKey key) override;
  Task<Status> remove(std::vector<ObjectKey> keys) override;
  Task<Result<ListPage>> list(std::string prefix, std::string after, std::size_t limit) override;

 private:
  // Calls that take a like time: of one operation, and of a size within a factor of four.
  struct Kind {
    enum class Operation : std::uint8_t { kPut, kGet } operation;
    int size_class;
    auto operator<=>(const Kind&) const = default;
  };
  // The times that the last calls of a kind took.
  class Window {
   public:
    void add(Duration took);
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] Duration quantile(double of) const;

   private:
    std::array<Duration, 64> times_{};
    std::size_t size_ = 0;
    std::size_t next_ = 0;
  };
  template <typename Answer>
  struct Race;

  static Kind kind_of(Kind::Operation operation, std::uint64_t bytes);
  // Counts the call. Nothing: too little is known yet.
  std::optional<Duration> begin(Kind kind);
  bool take_token();
  void record(Kind kind, Duration took);
  template <typename Answer, typename Call>
  Task<void> attempt(std::shared_ptr<Race<Answer>> race, std::size_t index, Kind kind, Call call);
  template <typename Answer, typename Call>
  Task<Answer> hedge(Kind kind, Call call);

  ObjectStore& inner_;
  Clock& clock_;
  const HedgePolicy policy_;
  std::array<Counter*, 2> hedges_{};  // by operation
  std::array<Counter*, 2> won_{};
  std::mutex mutex_;
  std::map<Kind, Window> windows_;  // under mutex_; there are few size classes
  double tokens_ = 0;               // under mutex_
  std::size_t running_ = 0;         // second requests; under mutex_
  TaskGroup losers_;
};

}  // namespace weir::storage
