// POSIX file calls as Results, for the file store. All block. Errors name the path and say what to
// do where the system's text does not.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "base/units.h"

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::storage {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();
  [[nodiscard]] int get() const { return fd_; }
  // Gives the descriptor to something else that closes it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// The error of a failed call on `path`: no space is kExhausted; what an operator can repair is
// kUnavailable.
[[nodiscard]] Error io_error(int error_number, std::string_view call, std::string_view path);

[[nodiscard]] Result<Fd> open_at(int folder, const std::string& path, int flags);
// Writes all slices, from the beginning of the file, with gather writes.
[[nodiscard]] Status write_chain(int file, const Chain& chain, std::string_view path);
// Exactly `count` bytes; fewer are kCorrupt.
[[nodiscard]] Result<Slice> read_range(int file, std::uint64_t from, std::size_t count,
                                       std::string_view path);

[[nodiscard]] TimestampMs modified_ms(const struct stat& info);

struct FolderEntry {
  std::string name;
  bool is_folder = false;  // else a regular file; other kinds are left out
};
// What lies in the folder, unordered, without "." and "..".
[[nodiscard]] Result<std::vector<FolderEntry>> read_folder(Fd folder, std::string_view path);

}  // namespace weir::storage
