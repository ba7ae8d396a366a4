// Extents and the other parts of snapshots whose numbers are written as differences.
// docs/formats/snapshot.md.
#pragma once
#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "metadata/state/extent_list.h"
#include "metadata/state/object_table.h"
#include "metadata/state/producer_table.h"

#include <span>
#include <vector>

namespace weir::metadata {

// Writes extents one after the other: what one does not say it has from the one before.
class ExtentEncoder {
 public:
  explicit ExtentEncoder(ByteWriter& out) : out_(out) {}
  void write(const Extent& extent);

 private:
  ByteWriter& out_;
  Extent before_;
};

class ExtentDecoder {
 public:
  explicit ExtentDecoder(ByteReader& in) : in_(in) {}
  Extent read();

  static constexpr std::size_t kLeastBytes = 11;

 private:
  ByteReader& in_;
  Extent before_;
};

void write(ByteWriter& out, const ProducerState& producer);
[[nodiscard]] ProducerState read_producer(ByteReader& in);

void write(ByteWriter& out, const ObjectState& object);
[[nodiscard]] ObjectState read_object(ByteReader& in);

}  // namespace weir::metadata
