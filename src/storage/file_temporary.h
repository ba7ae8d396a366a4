// The folder for temporary files that one open file store owns: PATH/~tmp/<pid>-<n>, locked with
// flock() as long as the store lives, so that another store can tell what a dead process left.
// Owned by the store; open() blocks.
#pragma once
#include "storage/file_io.h"

#include <string>

namespace weir::storage {

class FileTemporary {
 public:
  // Removes what dead stores left below `root`, and makes a folder.
  static Result<FileTemporary> open(int root);
  FileTemporary(FileTemporary&&) noexcept = default;
  FileTemporary& operator=(FileTemporary&&) = delete;
  ~FileTemporary();

  // The open folder.
  [[nodiscard]] int folder() const { return folder_.get(); }

 private:
  FileTemporary(Fd above, std::string name, Fd folder)
      : above_(std::move(above)), name_(std::move(name)), folder_(std::move(folder)) {}

  Fd above_;
  std::string name_;
  Fd folder_;
};

}  // namespace weir::storage
