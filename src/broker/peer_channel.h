// A way to another broker: one request and its answer at a time. The simulator has its own.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "metadata/state/image.h"
#include "runtime/task.h"

namespace weir::broker {

class PeerChannel {
 public:
  virtual ~PeerChannel() = default;
  // `frame` with its size in front; the answer without. kUnavailable: nothing of it was sent. Every
  // other error: the broker may have got it.
  virtual Task<Result<Slice>> exchange(const metadata::BrokerImage& to, Chain frame) = 0;
};

}  // namespace weir::broker
