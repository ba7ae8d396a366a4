// Error and Result<T>: how every module reports failure. Values, thread-agnostic, no exceptions
// across modules. The code is small and prescriptive: it says what a caller can do; the message is
// for people and names the input.
#pragma once
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace weir {

enum class ErrorCode : std::uint8_t {
  kNotFound,     // the named thing does not exist
  kConflict,     // a precondition (If-None-Match, expected state) did not hold
  kInvalid,      // the caller's input is wrong; the same call never succeeds
  kTimeout,      // no answer within the deadline; the outcome is unknown
  kUnavailable,  // a dependency is down or not ready; try again later
  kThrottled,    // a dependency asks to slow down; try again later and less often
  kCorrupt,      // stored or received bytes do not match their checksum or format
  kFenced,       // this broker's epoch is no longer valid
  kCancelled,    // the work was given up because its owner stops
  kExhausted,    // a limit of memory, size or count is reached
  kRefused,      // certain to have had no effect and to get none: this process saw to that itself;
                 // no answer of another system is ever taken for it
  kInternal,     // a bug
};

// How many there are; they count from 0.
constexpr std::size_t kErrorCodes = static_cast<std::size_t>(ErrorCode::kInternal) + 1;

[[nodiscard]] std::string_view to_string(ErrorCode code);

// True for the codes after which the same call may succeed later.
[[nodiscard]] constexpr bool is_retriable(ErrorCode code) {
  return code == ErrorCode::kTimeout || code == ErrorCode::kUnavailable ||
         code == ErrorCode::kThrottled;
}

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  // "not found: object data/ab/1/2"
  [[nodiscard]] std::string to_string() const;
  // The same error with `context: ` in front of its message.
  [[nodiscard]] Error in(std::string_view context) const;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

}  // namespace weir

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

// WEIR_TRY(auto x, f()): x is the value of f(), or the enclosing function returns f()'s error.
#define WEIR_TRY_IMPL(result, lhs, expr, ret)                  \
  auto result = (expr);                                        \
  if (!result) ret std::unexpected(std::move(result).error()); \
  lhs = std::move(*result)
#define WEIR_TRY(lhs, expr) WEIR_TRY_IMPL(WEIR_CONCAT(weir_try_, __COUNTER__), lhs, expr, return)
#define WEIR_CO_TRY(lhs, expr) \
  WEIR_TRY_IMPL(WEIR_CONCAT(weir_try_, __COUNTER__), lhs, expr, co_return)

// WEIR_CHECK(f()): the same for a Status.
#define WEIR_CHECK_IMPL(result, expr, ret) \
  if (auto result = (expr); !result) ret std::unexpected(std::move(result).error())
#define WEIR_CHECK(expr) WEIR_CHECK_IMPL(WEIR_CONCAT(weir_check_, __COUNTER__), expr, return)
#define WEIR_CO_CHECK(expr) WEIR_CHECK_IMPL(WEIR_CONCAT(weir_check_, __COUNTER__), expr, co_return)
