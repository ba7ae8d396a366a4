#include "storage/file_list.h"

#include "storage/file_io.h"
#include "storage/object_key.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace weir::storage {
namespace {

class Walk {
 public:
  Walk(int root, const std::string& prefix, const std::string& after, std::size_t limit)
      : root_(root), prefix_(prefix), after_(after), limit_(limit) {}

  // Goes through a folder ("" or "a/b/"), until the page is full.
  Status visit(const std::string& folder) {
    auto fd = open_at(root_, folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
    // Removed meanwhile, or never there.
    if (!fd && fd.error().code == ErrorCode::kNotFound) return {};
    if (!fd) return std::unexpected(std::move(fd).error());
    WEIR_TRY(auto entries, read_folder(std::move(*fd), folder));
    std::vector<std::string> paths;
    for (FolderEntry& entry : entries) {
      // Names that are no part of a key are not ours: temporary files, lost+found.
      if (!is_key_part(entry.name)) continue;
      std::string path = folder + entry.name;
      if (entry.is_folder) path += '/';
      if (may_hold(path, entry.is_folder)) paths.push_back(std::move(path));
    }
    // With the '/' a folder sorts where the keys below it do.
    std::ranges::sort(paths);
    for (const std::string& path : paths) {
      WEIR_CHECK(path.ends_with('/') ? visit(path) : add(path));
      if (page_.more) return {};
    }
    return {};
  }

  ListPage take() { return std::move(page_); }

 private:
  [[nodiscard]] bool may_hold(const std::string& path, bool is_folder) const {
    if (!is_folder) return path.starts_with(prefix_) && path > after_;
    if (!path.starts_with(prefix_) && !prefix_.starts_with(path)) return false;
    return path > after_ || after_.starts_with(path);
  }

  Status add(const std::string& path) {
    struct stat info{};
    if (::fstatat(root_, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return {};
      return std::unexpected(io_error(errno, "stat", path));
    }
    if (page_.objects.size() == limit_) {
      page_.more = true;
      return {};
    }
    page_.objects.push_back({path, static_cast<ByteCount>(info.st_size), modified_ms(info)});
    return {};
  }

  int root_;
  const std::string& prefix_;
  const std::string& after_;
  std::size_t limit_;
  ListPage page_;
};

}  // namespace

Result<ListPage> list_files(int root, const std::string& prefix, const std::string& after,
                            std::size_t limit) {
  Walk walk(root, prefix, after, limit);
  std::size_t slash = prefix.rfind('/');
  WEIR_CHECK(walk.visit(slash == std::string::npos ? "" : prefix.substr(0, slash + 1)));
  return walk.take();
}

}  // namespace weir::storage
