#include "storage/file_temporary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace weir::storage {
namespace {

constexpr const char* kName = "~tmp";
constexpr mode_t kFolderMode = 0755;
constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY;

Status lock(const Fd& fd, int operation, std::string_view path) {
  int done = -1;
  do {
    done = ::flock(fd.get(), operation);
  } while (done != 0 && errno == EINTR);
  if (done == 0) return {};
  return std::unexpected(io_error(errno, "lock", path));
}

// Removes the folder of a store that is not open any more. Best effort: what stays is tried again
// next time.
void remove_if_dead(const Fd& above, const std::string& name) {
  auto folder = open_at(above.get(), name, kOpenFolder);
  if (!folder || !lock(*folder, LOCK_EX | LOCK_NB, name)) return;
  auto copy = open_at(above.get(), name, kOpenFolder);
  if (!copy) return;
  auto entries = read_folder(std::move(*copy), name);
  if (!entries) return;
  for (const FolderEntry& entry : *entries) ::unlinkat(folder->get(), entry.name.c_str(), 0);
  ::unlinkat(above.get(), name.c_str(), AT_REMOVEDIR);
}

// Makes a folder of a new name.
Result<std::string> make_own(const Fd& above) {
  for (int i = 0;; ++i) {
    std::string name = fmt::format("{}-{}", ::getpid(), i);
    if (::mkdirat(above.get(), name.c_str(), kFolderMode) == 0) return name;
    if (errno != EEXIST) {
      return std::unexpected(io_error(errno, "make folder", fmt::format("{}/{}", kName, name)));
    }
  }
}

}  // namespace

Result<FileTemporary> FileTemporary::open(int root) {
  if (::mkdirat(root, kName, kFolderMode) != 0 && errno != EEXIST) {
    return std::unexpected(io_error(errno, "make folder", kName));
  }
  WEIR_TRY(Fd above, open_at(root, kName, kOpenFolder));
  // Held until the own folder is locked, or a store that opens now would take it for a dead one's.
  WEIR_TRY(Fd gate, open_at(root, kName, kOpenFolder));
  WEIR_CHECK(lock(gate, LOCK_EX, kName));
  WEIR_TRY(Fd listed, open_at(root, kName, kOpenFolder));
  WEIR_TRY(auto entries, read_folder(std::move(listed), kName));
  for (const FolderEntry& entry : entries) {
    if (entry.is_folder) remove_if_dead(above, entry.name);
  }
  WEIR_TRY(std::string name, make_own(above));
  WEIR_TRY(Fd folder, open_at(above.get(), name, kOpenFolder));
  WEIR_CHECK(lock(folder, LOCK_EX, name));
  return FileTemporary(std::move(above), std::move(name), std::move(folder));
}

FileTemporary::~FileTemporary() {
  if (folder_.get() >= 0) ::unlinkat(above_.get(), name_.c_str(), AT_REMOVEDIR);
}

}  // namespace weir::storage
