// Turns the stored bytes of extents into what a Fetch answer carries: whole batches with their
// offsets, from the one that holds the fetch offset on, within a limit of bytes (kafka-protocol.md
// and KIP-74). Pure; no record byte is copied.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "kafka/records/patching.h"
#include "metadata/state/extent.h"

#include <memory>
#include <optional>

namespace weir::fetch {

// A stored batch and what its extent assigns to it.
struct AssignedBatch {
  Slice bytes;
  kafka::BatchAssignment assignment;
  Offset last_offset = 0;
};

// Walks the batches of one extent. Stops at bytes that are no batch, fail their CRC, or do not add
// up to the extent's offsets: status() is kCorrupt then.
class ExtentBatches {
 public:
  // Batches that end before `from` are checked and passed over.
  ExtentBatches(const metadata::Extent& extent, Chain bytes, Offset from);

  std::optional<AssignedBatch> next();
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  std::optional<AssignedBatch> fail_with(std::string what);
  // The next batch, checked but for its CRC; nothing at the end or after a failure.
  std::optional<AssignedBatch> step();

  metadata::Extent extent_;
  Chain bytes_;
  Offset from_;
  std::size_t slice_ = 0;     // of bytes_
  std::size_t in_slice_ = 0;  // bytes of it that are consumed
  Offset next_offset_;
  Status status_;
};

// kCorrupt unless the bytes are the extent's batches, whole.
[[nodiscard]] Status check_extent(const metadata::Extent& extent, Chain bytes);

// The records of one partition's answer while it is put together.
struct AssemblyLimits {
  ByteCount max_bytes = 0;
  bool at_least_one = false;  // the first batch is taken even if it is larger than max_bytes
  std::shared_ptr<const void> memory = nullptr;  // lives as long as the records that are taken
};

class BatchAssembly {
 public:
  BatchAssembly(Offset from, AssemblyLimits limits) : from_(from), limits_(std::move(limits)) {}

  // Adds the batches of the next extent. False: the limit is reached. An error leaves what was
  // added before.
  Result<bool> add(const metadata::Extent& extent, Chain bytes);
  [[nodiscard]] ByteCount size() const { return out_.size(); }
  [[nodiscard]] Chain take() { return std::move(out_); }

 private:
  Offset from_;
  AssemblyLimits limits_;
  Chain out_;
};

}  // namespace weir::fetch
