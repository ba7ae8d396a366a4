// The object store on a local file system: `file:PATH`. The object "a/b" is the file PATH/a/b.
// Several processes may use one PATH at the same time.
//
// put writes a temporary file below PATH/~tmp ('~' is in no key), flushes it, renames it into its
// place and flushes the folder. Every open store has its own locked folder there; what dead
// processes left is removed when a store opens. Folders appear as needed and go when a remove
// leaves them empty. Calls run on the executor given, which has threads that may block.
#pragma once
#include "storage/file_folders.h"
#include "storage/file_temporary.h"
#include "storage/object_store.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace weir::storage {

class FileStore final : public ObjectStore {
 public:
  // Makes the folder where it does not exist. Blocks.
  static Result<std::unique_ptr<FileStore>> open(const std::string& path, Executor blocking);
  // To read what is there: makes no folders and refuses to put and to remove. kInvalid: no such
  // folder.
  static Result<std::unique_ptr<FileStore>> open_to_read(const std::string& path,
                                                         Executor blocking);
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;

  Task<Status> put(ObjectKey key, Chain body, PutOptions options) override;
  Task<Result<Slice>> get(ObjectKey key) override;
  Task<Result<Slice>> get_range(ObjectKey key, ByteRange range) override;
  Task<Result<ObjectInfo>> head(ObjectKey key) override;
  Task<Status> remove(std::vector<ObjectKey> keys) override;
  Task<Result<ListPage>> list(std::string prefix, std::string after, std::size_t limit) override;

 private:
  struct OpenObject {
    Fd file;
    ObjectInfo info;
  };

  FileStore(Fd root, std::optional<FileTemporary> temporary, Executor blocking)
      : folders_(std::move(root)),
        temporary_(std::move(temporary)),
        blocking_(std::move(blocking)) {}

  [[nodiscard]] Status check_writable() const;
  Status put_now(const ObjectKey& key, const Chain& body, PutOptions options);
  Status write_temporary(const std::string& name, const ObjectKey& key, const Chain& body);
  Status move_into_place(const std::string& name, const ObjectKey& key, PutOptions options);
  Status flush_folder(const ObjectKey& key, int folder);
  [[nodiscard]] Status flush_what_was_not(const ObjectKey& key) const;
  [[nodiscard]] Result<OpenObject> open_object(const ObjectKey& key) const;
  Result<Slice> get_now(const ObjectKey& key, std::optional<ByteRange> range) const;
  [[nodiscard]] Result<ObjectInfo> head_now(const ObjectKey& key) const;
  Status remove_now(const std::vector<ObjectKey>& keys);

  FileFolders folders_;
  std::optional<FileTemporary> temporary_;  // none: opened to read
  Executor blocking_;
  std::atomic<std::uint64_t> next_name_ = 0;
  // Folders whose last flush failed: what was put there is not told to be there before one
  // succeeds.
  mutable std::mutex unflushed_mutex_;
  mutable std::set<std::string> unflushed_;
  std::atomic<bool> has_direct_writes_ = true;  // until the file system refuses
};

}  // namespace weir::storage
