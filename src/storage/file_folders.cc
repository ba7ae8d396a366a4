#include "storage/file_folders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace weir::storage {
namespace {

// Each known folder holds a file descriptor.
constexpr std::size_t kMaxKnown = 128;
constexpr mode_t kFolderMode = 0755;

}  // namespace

FileFolders::FileFolders(Fd root) : root_(std::make_shared<const Fd>(std::move(root))) {}

Result<FileFolders::Folder> FileFolders::ensure(const std::string& path) {
  if (path.empty()) return root_;
  {
    std::lock_guard lock(mutex_);
    auto at = known_.find(path);
    if (at != known_.end()) return at->second;
  }
  std::size_t slash = path.rfind('/');
  bool top = slash == std::string::npos;
  WEIR_TRY(Folder parent, ensure(top ? "" : path.substr(0, slash)));
  WEIR_TRY(Folder folder, make(path, parent, top ? path : path.substr(slash + 1)));
  std::lock_guard lock(mutex_);
  // Opening a folder again costs one flush: starting anew now and then is cheaper than keeping an
  // order.
  if (known_.size() >= kMaxKnown) known_.clear();
  known_.insert_or_assign(path, folder);
  return folder;
}

Result<FileFolders::Folder> FileFolders::make(const std::string& path, const Folder& parent,
                                              const std::string& name) {
  if (::mkdirat(parent->get(), name.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    return std::unexpected(io_error(errno, "make folder", path));
  }
  int fd = ::openat(parent->get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == ENOTDIR) {
    return fail(ErrorCode::kInvalid,
                fmt::format("'{}' is an object, no key can lie below it", path));
  }
  if (fd < 0) return std::unexpected(io_error(errno, "open folder", path));
  auto folder = std::make_shared<const Fd>(fd);
  // Also when it existed: another process may have made it a moment ago.
  WEIR_CHECK(sync_folder(parent->get(), path));
  return folder;
}

void FileFolders::forget_all() {
  std::lock_guard lock(mutex_);
  known_.clear();
}

void FileFolders::prune(std::string path) {
  while (!path.empty()) {
    if (::unlinkat(root(), path.c_str(), AT_REMOVEDIR) != 0) return;
    {
      std::lock_guard lock(mutex_);
      known_.erase(path);
    }
    std::size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
}

Status sync_folder(int folder, std::string_view path) {
  if (::fsync(folder) == 0) return {};
  return std::unexpected(io_error(errno, "flush the folder of", path));
}

Status make_path(const std::string& path) {
  for (std::size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), kFolderMode) != 0) {
      if (errno == EEXIST) continue;
      return std::unexpected(io_error(errno, "make folder", part));
    }
    std::size_t slash = part.rfind('/', part.size() - 1);
    std::string above = slash == std::string::npos ? "." : part.substr(0, slash + 1);
    WEIR_TRY(Fd fd, open_at(AT_FDCWD, above, O_RDONLY | O_DIRECTORY));
    WEIR_CHECK(sync_folder(fd.get(), part));
  }
  return {};
}

}  // namespace weir::storage
