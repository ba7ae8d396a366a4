#include "storage/file_io.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>

namespace weir::storage {

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Error io_error(int error_number, std::string_view call, std::string_view path) {
  const char* text = ::strerrordesc_np(error_number);
  std::string message =
      fmt::format("{} {}: {}", call, path, text != nullptr ? text : "unknown system error");
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return {ErrorCode::kExhausted, message + " (free some space on its file system)"};
    case EMFILE:
    case ENFILE:
      return {ErrorCode::kExhausted, message + " (raise the limit of open files)"};
    case EFBIG:
      return {ErrorCode::kExhausted, std::move(message)};
    case ENOENT:
    case ENOTDIR:
      return {ErrorCode::kNotFound, std::move(message)};
    default:
      return {ErrorCode::kUnavailable, std::move(message)};
  }
}

Result<Fd> open_at(int folder, const std::string& path, int flags) {
  constexpr mode_t kMode = 0644;
  int fd = -1;
  do {
    fd = ::openat(folder, path.c_str(), flags | O_CLOEXEC, kMode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return std::unexpected(io_error(errno, "open", path));
  return Fd(fd);
}

Status write_chain(int file, const Chain& chain, std::string_view path) {
  std::array<iovec, IOV_MAX> parts{};
  const std::vector<Slice>& slices = chain.slices();
  std::size_t next = 0;   // the first slice not in parts
  std::size_t count = 0;  // parts filled
  std::size_t begin = 0;  // parts written
  while (true) {
    if (begin == count) {
      for (begin = count = 0; count < parts.size() && next < slices.size(); ++count, ++next) {
        parts[count] = {const_cast<std::byte*>(slices[next].data()), slices[next].size()};
      }
      if (count == 0) return {};
    }
    ssize_t written = ::writev(file, &parts[begin], static_cast<int>(count - begin));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return std::unexpected(io_error(errno, "write", path));
    auto left = static_cast<std::size_t>(written);
    while (begin < count && left >= parts[begin].iov_len) left -= parts[begin++].iov_len;
    if (left == 0) continue;
    parts[begin].iov_base = static_cast<std::byte*>(parts[begin].iov_base) + left;
    parts[begin].iov_len -= left;
  }
}

Result<Slice> read_range(int file, std::uint64_t from, std::size_t count, std::string_view path) {
  Buffer buffer(count);
  MutableBytes rest = buffer.bytes();
  while (!rest.empty()) {
    ssize_t got = ::pread(file, rest.data(), rest.size(), static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(io_error(errno, "read", path));
    if (got == 0) {
      return fail(ErrorCode::kCorrupt, fmt::format("{} ends {} bytes early", path, rest.size()));
    }
    rest = rest.subspan(static_cast<std::size_t>(got));
    from += static_cast<std::uint64_t>(got);
  }
  return buffer.slice();
}

TimestampMs modified_ms(const struct stat& info) {
  constexpr long kNanosPerMs = 1'000'000;
  return static_cast<TimestampMs>(info.st_mtim.tv_sec) * 1000 + info.st_mtim.tv_nsec / kNanosPerMs;
}

Result<std::vector<FolderEntry>> read_folder(Fd folder, std::string_view path) {
  std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(folder.get()), ::closedir);
  if (!stream) return std::unexpected(io_error(errno, "open", path));
  int fd = folder.release();  // the stream owns it now
  std::vector<FolderEntry> out;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    unsigned char type = entry->d_type;
    if (type == DT_UNKNOWN) {
      struct stat info{};
      if (::fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      type = IFTODT(info.st_mode);
    }
    if (type == DT_DIR || type == DT_REG) out.push_back({std::string(name), type == DT_DIR});
  }
  if (errno != 0) return std::unexpected(io_error(errno, "read folder", path));
  return out;
}

}  // namespace weir::storage
