#include "metadata/log/append_queue.h"

#include <fmt/format.h>

namespace weir::metadata {
namespace {

constexpr ByteCount kQueueBytes = 64_MiB;
constexpr std::size_t kQueueEntries = 16'384;
// What goes together. More would not make it cheaper, only the wait longer.
constexpr ByteCount kGroupBytes = 8_MiB;
constexpr std::size_t kGroupEntries = 256;

}  // namespace

Status AppendQueue::push(PendingAppend append) {
  if (queue_.size() >= kQueueEntries || bytes_ + append.entry.size() > kQueueBytes) {
    return fail(
        ErrorCode::kThrottled,
        fmt::format("{} appends of {} bytes wait for the metadata log", queue_.size(), bytes_));
  }
  bytes_ += append.entry.size();
  queue_.push_back(std::move(append));
  return {};
}

std::vector<PendingAppend> AppendQueue::take_group() {
  std::vector<PendingAppend> group;
  ByteCount bytes = 0;
  auto fits = [&] {
    return group.empty() ||
           (group.size() < kGroupEntries && bytes + queue_.front().entry.size() <= kGroupBytes);
  };
  while (!queue_.empty() && fits()) {
    bytes += queue_.front().entry.size();
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  bytes_ -= bytes;
  return group;
}

std::vector<PendingAppend> AppendQueue::take_all() {
  std::vector<PendingAppend> all(std::make_move_iterator(queue_.begin()),
                                 std::make_move_iterator(queue_.end()));
  queue_.clear();
  bytes_ = 0;
  return all;
}

void fail_all(std::vector<PendingAppend>& appends, const Error& error) {
  for (PendingAppend& append : appends) append.done.set(std::unexpected(error));
}

}  // namespace weir::metadata
