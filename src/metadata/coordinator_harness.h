// For tests of coordinators: one thread, a clock that moves while something is awaited, and one log
// for all brokers.
#pragma once
#include "metadata/log/memory_log.h"
#include "metadata/log_coordinator.h"
#include "runtime/test_loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

namespace weir::metadata {

// One broker's way to the log: it can be cut, or stand still as in a process that is stopped.
class Cable final : public MetadataLog {
 public:
  explicit Cable(MetadataLog& log) : log_(log) {}

  void cut(bool is_cut) { cut_ = is_cut; }
  // Nothing wakes the broker when others append, nor does it look by itself.
  void deafen() { deaf_ = true; }
  void hear() {
    deaf_ = false;
    thawed_.notify();
  }
  // Others are faster, whatever it appends.
  void lose(bool is_losing) { losing_ = is_losing; }
  void freeze() { frozen_ = true; }
  void thaw() {
    frozen_ = false;
    thawed_.notify();
  }

  Task<Result<Appended>> append(Slice entry, Position known) override {
    WEIR_CO_CHECK(co_await pass());
    ++appends;
    if (losing_) co_return fail(ErrorCode::kConflict, "others are faster");
    co_return co_await log_.append(std::move(entry), known);
  }
  void heard_of(Position position, MonoTime began) override { log_.heard_of(position, began); }
  Task<Result<std::vector<LogEntry>>> read(Position after, ByteCount limit) override {
    WEIR_CO_CHECK(co_await pass());
    co_return co_await log_.read(after, limit);
  }
  Task<Result<Position>> tail() override {
    WEIR_CO_CHECK(co_await pass());
    co_return co_await log_.tail();
  }
  Task<void> wait_past(Position position, MonoTime deadline) override {
    if (!deaf_) co_return co_await log_.wait_past(position, deadline);
    while (deaf_) co_await thawed_.wait();
  }
  Task<Result<SnapshotRef>> latest_snapshot() override { return log_.latest_snapshot(); }
  Task<Status> record_snapshot(SnapshotRef ref) override {
    return log_.record_snapshot(std::move(ref));
  }
  Task<Status> trim(Position upto) override { return log_.trim(upto); }
  Task<Result<Uuid>> cluster_id(Uuid proposal) override { return log_.cluster_id(proposal); }
  [[nodiscard]] std::uint64_t incarnation() const override { return log_.incarnation(); }
  [[nodiscard]] Duration look_interval() const override { return log_.look_interval(); }

  int appends = 0;

 private:
  Task<Status> pass() {
    while (frozen_) co_await thawed_.wait();
    if (cut_) co_return fail(ErrorCode::kUnavailable, "the cable is cut");
    co_return Status{};
  }

  MetadataLog& log_;
  bool cut_ = false;
  bool frozen_ = false;
  bool deaf_ = false;
  bool losing_ = false;
  Notifier thawed_;
};

class CoordinatorHarness : public testing::Test {
 protected:
  // Runs until the task is done, a millisecond of time after another. Fails after an hour of it.
  template <typename T>
  T run(Task<T> task) {
    std::optional<T> result;
    boost::asio::co_spawn(context_, std::move(task), [&](const std::exception_ptr&, T value) {
      result.emplace(std::move(value));
    });
    run_until([&] { return result.has_value(); });
    return std::move(*result);
  }
  void run(Task<void> task) {
    run<bool>([](Task<void> inner) -> Task<bool> {
      co_await std::move(inner);
      co_return true;
    }(std::move(task)));
  }
  template <typename F>
  void run_until(F done) {
    for (int i = 0; i < 3'600'000; ++i) {
      poll();
      if (done()) return;
      clock_.advance(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "waited in vain";
    std::abort();
  }
  void run_for(Duration duration) {
    MonoTime end = clock_.now() + duration;
    run_until([&] { return clock_.now() >= end; });
  }
  void poll() {
    context_.restart();
    context_.poll();
  }

  // A result that is awaited while other things go on.
  template <typename T>
  struct Pending {
    std::shared_ptr<std::optional<T>> value = std::make_shared<std::optional<T>>();
    [[nodiscard]] bool done() const { return value->has_value(); }
    T& operator*() const { return **value; }
    T* operator->() const { return &**value; }
  };
  template <typename T>
  Pending<T> begin(Task<T> task) {
    Pending<T> pending;
    boost::asio::co_spawn(context_, std::move(task),
                          [value = pending.value](const std::exception_ptr&, T result) {
                            value->emplace(std::move(result));
                          });
    return pending;
  }
  template <typename T>
  T finish(const Pending<T>& pending) {
    run_until([&] { return pending.done(); });
    return std::move(*pending);
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  MemoryLog log_{clock_};
};

}  // namespace weir::metadata
