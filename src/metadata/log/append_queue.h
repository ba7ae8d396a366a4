// Appends that wait for their backend, within limits of bytes and of number. Not thread-safe.
#pragma once
#include "metadata/log/metadata_log.h"
#include "runtime/oneshot.h"

#include <deque>
#include <vector>

namespace weir::metadata {

struct PendingAppend {
  Slice entry;
  Position known;
  OneShot<Result<Appended>> done;
  std::uint64_t incarnation = 0;  // of the log when the call began, where the backend asks for it
};

class AppendQueue {
 public:
  // kThrottled: too many wait already.
  [[nodiscard]] Status push(PendingAppend append);
  // The oldest ones that may go together: at least one if there is one.
  [[nodiscard]] std::vector<PendingAppend> take_group();
  [[nodiscard]] std::vector<PendingAppend> take_all();
  [[nodiscard]] bool empty() const { return queue_.empty(); }

 private:
  std::deque<PendingAppend> queue_;
  ByteCount bytes_ = 0;
};

void fail_all(std::vector<PendingAppend>& appends, const Error& error);

}  // namespace weir::metadata
