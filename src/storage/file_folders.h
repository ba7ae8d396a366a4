// The folders of a file store that puts write into: makes them, makes them durable, and keeps them
// open, so that a put into a known folder costs no more than its own entry. Owned by the store;
// thread-safe; calls block.
#pragma once
#include "storage/file_io.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace weir::storage {

class FileFolders {
 public:
  using Folder = std::shared_ptr<const Fd>;

  explicit FileFolders(Fd root);

  [[nodiscard]] int root() const { return root_->get(); }
  // The open folder ("a/b", or "" for the root). It and the folders above exist and survive a
  // crash.
  Result<Folder> ensure(const std::string& path);
  // To be called when a known folder proves to be removed, by another store on the same files.
  void forget_all();
  // Removes the folder and those above it that are empty. Best effort.
  void prune(std::string path);

 private:
  Result<Folder> make(const std::string& path, const Folder& parent, const std::string& name);

  Folder root_;
  std::mutex mutex_;
  std::map<std::string, Folder> known_;
};

// Makes the folder and those above it that are missing, durably.
[[nodiscard]] Status make_path(const std::string& path);

// Flushes an open folder's entries to disk.
[[nodiscard]] Status sync_folder(int folder, std::string_view path);

}  // namespace weir::storage
