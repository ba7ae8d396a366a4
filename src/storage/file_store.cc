#include "storage/file_store.h"

#include "runtime/run_on.h"
#include "storage/file_direct.h"
#include "storage/file_list.h"
#include "storage/object_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace weir::storage {
namespace {

std::string folder_of(const ObjectKey& key) {
  std::size_t slash = key.rfind('/');
  return slash == std::string::npos ? "" : key.substr(0, slash);
}

std::string name_of(const ObjectKey& key) { return key.substr(key.rfind('/') + 1); }

bool is_folder(int parent, const std::string& name) {
  struct stat info{};
  return ::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

Result<std::unique_ptr<FileStore>> FileStore::open(const std::string& path, Executor blocking) {
  Status made = make_path(path);
  auto root =
      made ? open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY) : std::unexpected(made.error());
  if (!root && root.error().code == ErrorCode::kNotFound) {
    return fail(ErrorCode::kInvalid, fmt::format("object store '{}': not a folder", path));
  }
  if (!root) return std::unexpected(root.error().in("object store " + path));
  auto temporary = FileTemporary::open(root->get());
  if (!temporary) return std::unexpected(temporary.error().in("object store " + path));
  return std::unique_ptr<FileStore>(
      new FileStore(std::move(*root), std::move(*temporary), std::move(blocking)));
}

Result<std::unique_ptr<FileStore>> FileStore::open_to_read(const std::string& path,
                                                           Executor blocking) {
  auto root = open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
  if (!root && root.error().code == ErrorCode::kNotFound) {
    return fail(ErrorCode::kInvalid,
                fmt::format("object store '{}': no such folder; give the one of the broker's "
                            "object.store.url",
                            path));
  }
  if (!root) return std::unexpected(root.error().in("object store " + path));
  return std::unique_ptr<FileStore>(
      new FileStore(std::move(*root), std::nullopt, std::move(blocking)));
}

Status FileStore::check_writable() const {
  if (temporary_) return {};
  return fail(ErrorCode::kInvalid, "the object store was opened to read only");
}

Status FileStore::put_now(const ObjectKey& key, const Chain& body, PutOptions options) {
  WEIR_CHECK(check_writable());
  WEIR_CHECK(check_key(key));
  std::string name = std::to_string(next_name_++);
  Status done = write_temporary(name, key, body);
  if (done) done = move_into_place(name, key, options);
  // A rename has taken it away; a link has not.
  if (!done || options.if_absent) ::unlinkat(temporary_->folder(), name.c_str(), 0);
  return done;
}

Status FileStore::write_temporary(const std::string& name, const ObjectKey& key,
                                  const Chain& body) {
  bool is_direct = has_direct_writes_ && body.size() >= kDirectMin;
  auto file = is_direct ? create_direct(temporary_->folder(), name)
                        : open_at(temporary_->folder(), name, O_WRONLY | O_CREAT | O_EXCL);
  if (!file && file.error().code == ErrorCode::kInvalid) {
    has_direct_writes_ = false;
    return write_temporary(name, key, body);
  }
  if (!file) return std::unexpected(file.error().in("put " + key));
  WEIR_CHECK(is_direct ? write_direct(file->get(), body, key)
                       : write_chain(file->get(), body, key));
  // Data and size; the other attributes may be lost.
  if (::fdatasync(file->get()) != 0) return std::unexpected(io_error(errno, "flush", key));
  return {};
}

Status FileStore::move_into_place(const std::string& temporary, const ObjectKey& key,
                                  PutOptions options) {
  constexpr int kAttempts = 50;
  std::string folder_path = folder_of(key);
  std::string name = name_of(key);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto folder = folders_.ensure(folder_path);
    int failed = ENOENT;
    if (folder) {
      int from = temporary_->folder();
      int to = (*folder)->get();
      // link() does not replace; unlike renameat2(RENAME_NOREPLACE), every file system has it.
      int done = options.if_absent ? ::linkat(from, temporary.c_str(), to, name.c_str(), 0)
                                   : ::renameat(from, temporary.c_str(), to, name.c_str());
      if (done == 0) return flush_folder(key, to);
      failed = errno;
      if (failed == EISDIR || (failed == EEXIST && is_folder(to, name))) {
        return fail(ErrorCode::kInvalid,
                    fmt::format("object key '{}' is the folder of other objects", key));
      }
    } else if (folder.error().code != ErrorCode::kNotFound) {
      return std::unexpected(folder.error().in("put " + key));
    }
    if (failed == EEXIST) {
      // It may be this store's own, from an attempt whose flush failed, or another's that is not
      // flushed yet: who is told of it takes it for durable.
      WEIR_CHECK(flush_folder(key, (*folder)->get()));
      return fail(ErrorCode::kConflict, fmt::format("object {} exists", key));
    }
    if (failed != ENOENT) return std::unexpected(io_error(failed, "rename", key));
    // The folder became empty and was removed by another store, or its parent was: once more from
    // the top.
    folders_.forget_all();
  }
  return fail(ErrorCode::kUnavailable,
              fmt::format("put {}: its folder or temporary file is removed again and again", key));
}

Status FileStore::flush_folder(const ObjectKey& key, int folder) {
  Status flushed = sync_folder(folder, key);
  if (flushed) return flushed;
  std::lock_guard lock(unflushed_mutex_);
  unflushed_.insert(folder_of(key));
  return flushed;
}

Status FileStore::flush_what_was_not(const ObjectKey& key) const {
  const std::string path = folder_of(key);
  std::lock_guard lock(unflushed_mutex_);
  if (!unflushed_.contains(path)) return {};
  auto folder = open_at(folders_.root(), path.empty() ? "." : path, O_RDONLY | O_DIRECTORY);
  if (folder) WEIR_CHECK(sync_folder(folder->get(), key));
  if (!folder && folder.error().code != ErrorCode::kNotFound) {
    return std::unexpected(std::move(folder).error());
  }
  unflushed_.erase(path);
  return {};
}

Result<FileStore::OpenObject> FileStore::open_object(const ObjectKey& key) const {
  WEIR_CHECK(check_key(key));
  WEIR_CHECK(flush_what_was_not(key));
  auto file = open_at(folders_.root(), key, O_RDONLY);
  if (!file && file.error().code == ErrorCode::kNotFound) {
    return fail(ErrorCode::kNotFound, "object " + key);
  }
  if (!file) return std::unexpected(std::move(file).error());
  struct stat info{};
  if (::fstat(file->get(), &info) != 0) return std::unexpected(io_error(errno, "stat", key));
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::kNotFound, "object " + key);
  return OpenObject{std::move(*file),
                    {key, static_cast<ByteCount>(info.st_size), modified_ms(info)}};
}

Result<Slice> FileStore::get_now(const ObjectKey& key, std::optional<ByteRange> range) const {
  WEIR_TRY(OpenObject object, open_object(key));
  ByteRange wanted = range.value_or(ByteRange{0, object.info.size});
  WEIR_CHECK(check_range(key, wanted, object.info.size));
  auto* read = wanted.count >= kDirectMin ? &read_direct : &read_range;
  return read(object.file.get(), wanted.from, wanted.count, key);
}

Result<ObjectInfo> FileStore::head_now(const ObjectKey& key) const {
  WEIR_TRY(OpenObject object, open_object(key));
  return std::move(object.info);
}

Status FileStore::remove_now(const std::vector<ObjectKey>& keys) {
  WEIR_CHECK(check_writable());
  for (const ObjectKey& key : keys) WEIR_CHECK(check_key(key));
  std::set<std::string> folders;
  Status done;
  for (const ObjectKey& key : keys) {
    if (::unlinkat(folders_.root(), key.c_str(), 0) == 0) {
      folders.insert(folder_of(key));
    } else if (errno != ENOENT && errno != ENOTDIR && errno != EISDIR) {
      done = std::unexpected(io_error(errno, "remove", key));
    }
  }
  for (const std::string& folder : folders) folders_.prune(folder);
  return done;
}

Task<Status> FileStore::put(ObjectKey key, Chain body, PutOptions options) {
  co_return co_await run_on(blocking_, [this, key = std::move(key), body = std::move(body),
                                        options] { return put_now(key, body, options); });
}

Task<Result<Slice>> FileStore::get(ObjectKey key) {
  co_return co_await run_on(blocking_,
                            [this, key = std::move(key)] { return get_now(key, std::nullopt); });
}

Task<Result<Slice>> FileStore::get_range(ObjectKey key, ByteRange range) {
  co_return co_await run_on(blocking_,
                            [this, key = std::move(key), range] { return get_now(key, range); });
}

Task<Result<ObjectInfo>> FileStore::head(ObjectKey key) {
  co_return co_await run_on(blocking_, [this, key = std::move(key)] { return head_now(key); });
}

Task<Status> FileStore::remove(std::vector<ObjectKey> keys) {
  co_return co_await run_on(blocking_, [this, keys = std::move(keys)] { return remove_now(keys); });
}

Task<Result<ListPage>> FileStore::list(std::string prefix, std::string after, std::size_t limit) {
  WEIR_CO_CHECK(check_list(prefix, after, limit));
  co_return co_await run_on(blocking_,
                            [this, prefix = std::move(prefix), after = std::move(after), limit] {
                              return list_files(folders_.root(), prefix, after, limit);
                            });
}

}  // namespace weir::storage
