// Task<T>: the coroutine type of the project (Asio's awaitable). A task belongs to the executor
// that runs it and resumes there; it is never destroyed while suspended except when its executor
// is. Coroutine parameters are values, or references to objects that outlive the task.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace weir {

template <typename T>
using Task = boost::asio::awaitable<T>;

// Where tasks run: a core's loop, the coordinator's thread, or the simulator.
using Executor = boost::asio::any_io_executor;

}  // namespace weir
