#include "base/bytes.h"

namespace weir {

Slice Slice::copy_of(Bytes bytes) {
  Buffer buffer(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.bytes().data(), bytes.data(), bytes.size());
  return buffer.slice();
}

Slice Slice::of(std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  Bytes view(*owner);
  return {std::move(owner), view};
}

Slice Chain::flatten() const {
  if (slices_.size() == 1) return slices_.front();
  Buffer buffer(size_);
  std::size_t at = 0;
  for (const Slice& slice : slices_) {
    std::memcpy(buffer.bytes().data() + at, slice.data(), slice.size());
    at += slice.size();
  }
  return buffer.slice();
}

Chain holding(const Chain& chain, std::shared_ptr<const void> memory) {
  using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
  Chain out;
  for (const Slice& slice : chain.slices()) {
    if (memory == nullptr) {
      out.append(slice);
    } else {
      auto both = std::make_shared<const Both>(slice.owner(), std::exchange(memory, nullptr));
      out.append(Slice(std::move(both), slice.bytes()));
    }
  }
  return out;
}

}  // namespace weir
