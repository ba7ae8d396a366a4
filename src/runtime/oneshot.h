// A value that arrives once: set() from any thread, wait() by one task, which resumes on its own
// executor. Copies share the state. The first set() wins; later ones are ignored, so a timeout and
// an answer may race.
#pragma once
#include "runtime/task.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace weir {

template <typename T>
class OneShot {
 public:
  OneShot() : state_(std::make_shared<State>()) {}

  void set(T value) { try_set(std::move(value)); }

  // True: this value is the one that wait() gives. Only posts, runs nobody's code.
  bool try_set(T value) {
    std::move_only_function<void(T)> waiter;
    {
      std::lock_guard lock(state_->mutex);
      if (state_->is_set) return false;
      state_->is_set = true;
      if (!state_->waiter) {
        state_->value.emplace(std::move(value));
        return true;
      }
      waiter = std::exchange(state_->waiter, nullptr);
    }
    waiter(std::move(value));
    return true;
  }

  [[nodiscard]] bool is_set() const {
    std::lock_guard lock(state_->mutex);
    return state_->is_set;
  }

  // Shows `look` what is set and has not been taken yet. Under a lock: it must be short.
  template <typename Look>
  void peek(Look look) const {
    std::lock_guard lock(state_->mutex);
    if (state_->value) look(std::as_const(*state_->value));
  }

  // At most one task waits, once.
  Task<T> wait() {
    // A copy in the frame: the OneShot itself may die while its task is suspended.
    std::shared_ptr<State> state = state_;
    {
      std::lock_guard lock(state->mutex);
      if (state->value) co_return std::move(*state->value);
    }
    co_return co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void(T)>(
        [state](auto handler) { subscribe(*state, std::move(handler)); },
        boost::asio::use_awaitable);
  }

 private:
  struct State {
    std::mutex mutex;
    bool is_set = false;
    std::optional<T> value;
    std::move_only_function<void(T)> waiter;
  };

  template <typename Handler>
  static void subscribe(State& state, Handler handler) {
    auto executor = boost::asio::get_associated_executor(handler);
    auto resume = [executor, handler = std::move(handler)](T value) mutable {
      boost::asio::post(executor,
                        [handler = std::move(handler), value = std::move(value)]() mutable {
                          handler(std::move(value));
                        });
    };
    std::unique_lock lock(state.mutex);
    if (!state.value) {
      state.waiter = std::move(resume);
      return;
    }
    T value = std::move(*state.value);
    lock.unlock();
    resume(std::move(value));
  }

  std::shared_ptr<State> state_;
};

}  // namespace weir
