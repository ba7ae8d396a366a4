// Byte ranges. Bytes is a view; Slice is a view that keeps its memory alive; Chain is a list of
// slices that is written with one gather call. Copying a Slice copies a reference, never bytes.
// Values; the shared memory is immutable once shared.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

[[nodiscard]] inline Bytes as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
[[nodiscard]] inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Slice {
 public:
  Slice() = default;
  // `bytes` must lie in memory that `owner` keeps alive.
  Slice(std::shared_ptr<const void> owner, Bytes bytes) : owner_(std::move(owner)), bytes_(bytes) {}

  // A slice of a fresh copy.
  [[nodiscard]] static Slice copy_of(Bytes bytes);
  [[nodiscard]] static Slice copy_of(std::string_view text) { return copy_of(as_bytes(text)); }
  [[nodiscard]] static Slice of(std::vector<std::byte> bytes);

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] const std::byte* data() const { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  // The part [from, from + count); both must lie within.
  [[nodiscard]] Slice sub(std::size_t from, std::size_t count) const {
    return {owner_, bytes_.subspan(from, count)};
  }
  [[nodiscard]] Slice sub(std::size_t from) const { return {owner_, bytes_.subspan(from)}; }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::shared_ptr<const void> owner_;
  Bytes bytes_;
};

// A writable block of memory, uninitialised, that becomes a Slice when filled.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size)
      : memory_(std::make_shared_for_overwrite<std::byte[]>(size)), size_(size) {}

  [[nodiscard]] MutableBytes bytes() { return {memory_.get(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }
  // The whole block; further writes through bytes() are forbidden once another thread sees it.
  [[nodiscard]] Slice slice() const { return {memory_, Bytes(memory_.get(), size_)}; }

 private:
  std::shared_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
};

// Slices that together are one run of bytes.
class Chain {
 public:
  Chain() = default;
  explicit Chain(Slice slice) { append(std::move(slice)); }

  void append(Slice slice) {
    if (slice.empty()) return;
    size_ += slice.size();
    slices_.push_back(std::move(slice));
  }
  void append(const Chain& other) {
    for (const Slice& slice : other.slices_) append(slice);
  }
  [[nodiscard]] const std::vector<Slice>& slices() const { return slices_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // One contiguous slice: without a copy where the chain has one slice.
  [[nodiscard]] Slice flatten() const;

 private:
  std::vector<Slice> slices_;
  std::size_t size_ = 0;
};

// The slices of `chain`; `memory` lives as long as the first of them.
[[nodiscard]] Chain holding(const Chain& chain, std::shared_ptr<const void> memory);

}  // namespace weir
