// Moves work between executors: run_on(executor, f) runs f() there and resumes the caller, with the
// result, on its own executor.
#pragma once
#include "runtime/oneshot.h"
#include "runtime/task.h"

#include <boost/asio/post.hpp>

#include <functional>
#include <type_traits>

namespace weir {

template <typename F, typename T = std::invoke_result_t<F&>>
Task<T> run_on(Executor executor, F function) {
  static_assert(!std::is_void_v<T>, "return a value, for example Status");
  OneShot<T> done;
  boost::asio::post(executor,
                    [done, function = std::move(function)]() mutable { done.set(function()); });
  co_return co_await done.wait();
}

}  // namespace weir
