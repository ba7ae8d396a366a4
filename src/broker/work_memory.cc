#include "broker/work_memory.h"

#include <fmt/format.h>

#include <utility>

namespace weir::broker {
namespace {

// A list above this becomes many times its size when it is decoded and answered: a partition of a
// Fetch takes 24 bytes on the wire and some 600 in all that is made of it.
constexpr ByteCount kLargeList = 64_KiB;
constexpr ByteCount kListFactor = 24;
// Below this, what a request becomes is less than the rest that a connection takes.
constexpr ByteCount kFreeWork = 128_KiB;

}  // namespace

Task<Result<WorkMemory::Place>> WorkMemory::reserve_list(ByteCount size, std::stop_token closed) {
  if (size <= kLargeList) co_return Place{};
  const ByteCount most = budget_.limit() * 2;
  if (size * kListFactor > most) {
    co_return fail(ErrorCode::kInvalid,
                   fmt::format("a request that is a list of {} bytes takes too much memory to be "
                               "served: at most {} bytes, or raise memory.budget.bytes",
                               size, most / kListFactor));
  }
  co_return co_await reserve(size * kListFactor, std::move(closed));
}

Task<Result<WorkMemory::Place>> WorkMemory::reserve(ByteCount bytes, std::stop_token closed) {
  auto place = co_await budget_.reserve(bytes, std::move(closed));
  if (!place) co_return fail(ErrorCode::kCancelled, "the connection is closed");
  co_return Place{.reservation = std::move(place), .bytes = bytes};
}

Task<Result<WorkMemory::Place>> WorkMemory::extend(ByteCount bytes, std::stop_token closed) {
  auto place = co_await budget_.extend_to_end(bytes, std::move(closed));
  if (!place) co_return fail(ErrorCode::kCancelled, "the connection is closed");
  co_return Place{.reservation = std::move(place), .bytes = bytes};
}

WorkMemory::Place WorkMemory::try_reserve(ByteCount bytes) {
  auto place = budget_.try_reserve(bytes);
  if (!place) return {};
  return {.reservation = std::move(place), .bytes = bytes};
}

WorkMemory::Place WorkMemory::exchange(Place held, ByteCount bytes) {
  return {.reservation = budget_.exchange(std::move(held.reservation), bytes), .bytes = bytes};
}

bool WorkMemory::is_little(ByteCount bytes) { return bytes <= kFreeWork; }

std::shared_ptr<const void> both(std::shared_ptr<const void> one,
                                 std::shared_ptr<const void> other) {
  if (!one) return other;
  if (!other) return one;
  return std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
      std::move(one), std::move(other));
}

}  // namespace weir::broker
