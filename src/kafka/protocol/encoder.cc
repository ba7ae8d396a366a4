#include "kafka/protocol/encoder.h"

#include <bit>
#include <limits>

namespace weir::kafka {
namespace {

constexpr std::size_t kMaxShort = std::numeric_limits<std::int16_t>::max();
constexpr std::size_t kMaxInt = std::numeric_limits<std::int32_t>::max();

}  // namespace

template <typename Pass>
void Encoder<Pass>::length(std::size_t count, bool flexible) {
  if (count >= kMaxInt) pass().too_long(count);
  if (flexible) {
    uvarlong(count + 1);
  } else {
    i32(static_cast<std::int32_t>(count));
  }
}

template <typename Pass>
void Encoder<Pass>::null(bool flexible) {
  if (flexible) {
    pass().u8(0);
  } else {
    i32(-1);
  }
}

template <typename Pass>
void Encoder<Pass>::null_string(bool flexible) {
  if (flexible) {
    pass().u8(0);
  } else {
    i16(-1);
  }
}

template <typename Pass>
void Encoder<Pass>::string(std::string_view value, bool flexible) {
  if (flexible) {
    length(value.size(), true);
  } else {
    if (value.size() > kMaxShort) pass().too_long(value.size());
    i16(static_cast<std::int16_t>(value.size()));
  }
  pass().raw(as_bytes(value));
}

template <typename Pass>
void Encoder<Pass>::nullable_string(const std::optional<std::string_view>& value, bool flexible) {
  if (value) {
    string(*value, flexible);
  } else {
    null_string(flexible);
  }
}

template <typename Pass>
void Encoder<Pass>::nullable_string(const std::optional<std::string>& value, bool flexible) {
  if (value) {
    string(*value, flexible);
  } else {
    null_string(flexible);
  }
}

template <typename Pass>
void Encoder<Pass>::bytes(Bytes value, bool flexible) {
  length(value.size(), flexible);
  pass().raw(value);
}

template <typename Pass>
void Encoder<Pass>::nullable_bytes(const std::optional<Bytes>& value, bool flexible) {
  if (value) {
    bytes(*value, flexible);
  } else {
    null(flexible);
  }
}

template <typename Pass>
void Encoder<Pass>::nullable_bytes(const std::optional<Slice>& value, bool flexible) {
  if (value) {
    bytes(value->bytes(), flexible);
  } else {
    null(flexible);
  }
}

template <typename Pass>
void Encoder<Pass>::nullable_bytes(const std::optional<std::vector<std::byte>>& value,
                                   bool flexible) {
  if (value) {
    bytes(Bytes(*value), flexible);
  } else {
    null(flexible);
  }
}

template <typename Pass>
void Encoder<Pass>::records(const Slice& value, bool flexible) {
  length(value.size(), flexible);
  pass().chained(value);
}

template <typename Pass>
void Encoder<Pass>::records(const Chain& value, bool flexible) {
  length(value.size(), flexible);
  for (const Slice& slice : value.slices()) pass().chained(slice);
}

template <typename Pass>
void Encoder<Pass>::nullable_records(const std::optional<Slice>& value, bool flexible) {
  if (value) {
    records(*value, flexible);
  } else {
    null(flexible);
  }
}

template <typename Pass>
void Encoder<Pass>::nullable_records(const std::optional<Chain>& value, bool flexible) {
  if (value) {
    records(*value, flexible);
  } else {
    null(flexible);
  }
}

template <typename Pass>
void Encoder<Pass>::f64(double value) {
  pass().u64(std::bit_cast<std::uint64_t>(value));
}

template <typename Pass>
void Encoder<Pass>::uvarlong(std::uint64_t value) {
  while (value >= 0x80) {
    pass().u8(static_cast<std::uint8_t>(value | 0x80));
    value >>= 7;
  }
  pass().u8(static_cast<std::uint8_t>(value));
}

template class Encoder<SizeCounter>;
template class Encoder<ChainWriter>;

ChainWriter::ChainWriter(std::size_t size) : buffer_(size), whole_(buffer_.slice()) {}

void ChainWriter::chained(const Slice& value) {
  cut();
  out_.append(value);
}

void ChainWriter::cut() {
  out_.append(whole_.sub(cut_at_, at_ - cut_at_));
  cut_at_ = at_;
}

Chain ChainWriter::finish() {
  if (at_ != whole_.size()) __builtin_trap();
  cut();
  return std::move(out_);
}

}  // namespace weir::kafka
