#include "storage/file_direct.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace weir::storage {
namespace {

// Enough for any device: memory, offsets and lengths are multiples of it.
constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kBufferSize = 1024 * 1024;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

// The blocking threads are few and live as long as the process.
std::byte* thread_buffer() {
  thread_local std::unique_ptr<std::byte, Free> buffer(
      static_cast<std::byte*>(std::aligned_alloc(kAlignment, kBufferSize)));
  return buffer.get();
}

Status write_all(int file, Bytes bytes, std::uint64_t at, std::string_view path) {
  while (!bytes.empty()) {
    ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return std::unexpected(io_error(errno, "write", path));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
  return {};
}

}  // namespace

Result<Fd> create_direct(int folder, const std::string& name) {
  constexpr mode_t kMode = 0644;
  int fd =
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, kMode);
  if (fd >= 0) return Fd(fd);
  if (errno != EINVAL) return std::unexpected(io_error(errno, "open", name));
  // Some file systems create the file before they refuse.
  ::unlinkat(folder, name.c_str(), 0);
  return fail(ErrorCode::kInvalid, "the file system has no direct writes");
}

Status write_direct(int file, const Chain& chain, std::string_view path) {
  std::byte* buffer = thread_buffer();
  if (buffer == nullptr) return fail(ErrorCode::kExhausted, "no memory for a write buffer");
  std::size_t filled = 0;
  std::uint64_t at = 0;
  for (const Slice& slice : chain.slices()) {
    Bytes rest = slice.bytes();
    while (!rest.empty()) {
      std::size_t part = std::min(rest.size(), kBufferSize - filled);
      std::memcpy(buffer + filled, rest.data(), part);
      rest = rest.subspan(part);
      filled += part;
      if (filled < kBufferSize) continue;
      WEIR_CHECK(write_all(file, {buffer, filled}, at, path));
      at += filled;
      filled = 0;
    }
  }
  if (filled == 0) return {};
  // The last block is written whole, and what stands behind the object is cut off again.
  std::size_t whole = (filled + kAlignment - 1) / kAlignment * kAlignment;
  std::memset(buffer + filled, 0, whole - filled);
  WEIR_CHECK(write_all(file, {buffer, whole}, at, path));
  if (whole == filled) return {};
  if (::ftruncate(file, static_cast<off_t>(at + filled)) == 0) return {};
  return std::unexpected(io_error(errno, "truncate", path));
}

Result<Slice> read_direct(int file, std::uint64_t from, std::size_t count, std::string_view path) {
  int flags = ::fcntl(file, F_GETFL);
  if (flags < 0 || ::fcntl(file, F_SETFL, flags | O_DIRECT) != 0) {
    return read_range(file, from, count, path);
  }
  // From the block that holds the first byte to the one that holds the last.
  std::uint64_t begin = from / kAlignment * kAlignment;
  std::size_t skipped = static_cast<std::size_t>(from - begin);
  std::size_t whole = (skipped + count + kAlignment - 1) / kAlignment * kAlignment;
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(std::aligned_alloc(kAlignment, whole)),
                                    Free());
  if (!memory) return fail(ErrorCode::kExhausted, fmt::format("no memory for {} bytes", whole));
  std::size_t got = 0;
  while (got < skipped + count) {
    ssize_t part = ::pread(file, memory.get() + got, whole - got, static_cast<off_t>(begin + got));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return std::unexpected(io_error(errno, "read", path));
    got += static_cast<std::size_t>(part);
    // Only the end of the file stops within a block.
    bool is_at_end = part == 0 || static_cast<std::size_t>(part) % kAlignment != 0;
    if (is_at_end && got < skipped + count) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("{} ends {} bytes early", path, skipped + count - got));
    }
  }
  Bytes bytes(memory.get() + skipped, count);
  return Slice(std::move(memory), bytes);
}

}  // namespace weir::storage
