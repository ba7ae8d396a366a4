// How an append gets to another broker, which makes it to the shared log in this one's place.
#pragma once
#include "metadata/log/metadata_log.h"
#include "metadata/state/image.h"

namespace weir::metadata {

class AppendCarrier {
 public:
  virtual ~AppendCarrier() = default;
  // Whether the entry may go this way: one that somebody repeats later must have no effect then.
  [[nodiscard]] virtual bool takes(const Slice& entry) const = 0;
  // MetadataLog::append() at the broker `to`. kUnavailable: it was not handed over, so the entry
  // was not appended and will not be. Every other error: it may stand, or come to stand later.
  virtual Task<Result<Appended>> carry(const BrokerImage& to, Slice entry, Position known) = 0;
};

}  // namespace weir::metadata
