// What the file store asks of the system: which flushes in which order, and what it makes of failed
// and partial calls. This binary has its own fsync, fdatasync, writev and pread, which the store is
// linked against: they record and fail as told, and else do their work.
#include "runtime/temporary_folder.h"
#include "runtime/test_loop.h"
#include "storage/file_store.h"

#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <mutex>

namespace {

struct Recorder {
  std::mutex mutex;
  bool is_on = false;
  std::string root;                // cut off the paths recorded
  std::vector<std::string> calls;  // "fsync data/x"
  std::string fail_call;           // the call that fails, with `fail_with`
  int fail_with = 0;
  std::size_t most_bytes = SIZE_MAX;  // of one write or read
};

Recorder recorder;

// Records a call on a file. The error number it shall fail with, or 0.
int on_call(const char* name, int fd) {
  std::lock_guard lock(recorder.mutex);
  if (!recorder.is_on) return 0;
  std::array<char, PATH_MAX> path{};
  std::string link = fmt::format("/proc/self/fd/{}", fd);
  if (::readlink(link.c_str(), path.data(), path.size() - 1) < 0) return EBADF;
  std::string file = path.data();
  if (file.starts_with(recorder.root)) file.erase(0, recorder.root.size());
  if (file.starts_with("/~tmp/")) file = "(temporary)";
  std::string call = fmt::format("{} {}", name, file.empty() ? "/" : file);
  if (recorder.calls.empty() || recorder.calls.back() != call) recorder.calls.push_back(call);
  return call == recorder.fail_call ? recorder.fail_with : 0;
}

std::size_t most_bytes() {
  std::lock_guard lock(recorder.mutex);
  return recorder.most_bytes;
}

}  // namespace

extern "C" {

int fsync(int fd) {
  errno = on_call("fsync", fd);
  return errno != 0 ? -1 : static_cast<int>(::syscall(SYS_fsync, fd));
}

int fdatasync(int fd) {
  errno = on_call("fdatasync", fd);
  return errno != 0 ? -1 : static_cast<int>(::syscall(SYS_fdatasync, fd));
}

ssize_t writev(int fd, const iovec* parts, int count) {
  errno = on_call("writev", fd);
  if (errno != 0) return -1;
  // A part of the first slices, as a full pipe or a signal would have it.
  std::vector<iovec> some;
  std::size_t left = most_bytes();
  for (int i = 0; i < count && left > 0; ++i) {
    some.push_back({parts[i].iov_base, std::min(parts[i].iov_len, left)});
    left -= some.back().iov_len;
  }
  return ::syscall(SYS_writev, fd, some.data(), some.size());
}

ssize_t pread(int fd, void* buffer, std::size_t size, off_t from) {
  errno = on_call("pread", fd);
  if (errno != 0) return -1;
  return ::syscall(SYS_pread64, fd, buffer, std::min(size, most_bytes()), from);
}
}

namespace weir::storage {
namespace {

namespace fs = std::filesystem;

class FileStoreSyscalls : public testing::Test {
 public:
  FileStoreSyscalls() : store_(*FileStore::open(folder_.path(), pool_.get_executor())) {
    std::lock_guard lock(recorder.mutex);
    recorder.is_on = true;
    recorder.root = fs::canonical(folder_.path());
    recorder.calls.clear();
    recorder.fail_call.clear();
    recorder.most_bytes = SIZE_MAX;
  }
  ~FileStoreSyscalls() override {
    pool_.join();
    recorder.is_on = false;
  }

 protected:
  Status put(const std::string& key, PutOptions options = {}) {
    Chain body(Slice::copy_of("0123456789"));
    body.append(Slice::copy_of("abc"));
    return run_task(context_, store_->put(key, body, options));
  }
  std::string get(const std::string& key) {
    auto body = run_task(context_, store_->get(key));
    return body ? std::string(as_text(body->bytes())) : body.error().to_string();
  }
  // The calls since the last time.
  static std::string calls() {
    std::lock_guard lock(recorder.mutex);
    return fmt::format("{}", fmt::join(std::exchange(recorder.calls, {}), ", "));
  }
  static void fail(const std::string& call, int error_number) {
    std::lock_guard lock(recorder.mutex);
    recorder.fail_call = call;
    recorder.fail_with = error_number;
  }
  [[nodiscard]] bool has_temporary_file() const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path() / "~tmp")) {
      if (entry.is_regular_file()) return true;
    }
    return false;
  }

  boost::asio::io_context context_;
  TemporaryFolder folder_;
  boost::asio::thread_pool pool_{1};
  std::unique_ptr<FileStore> store_;
};

TEST_F(FileStoreSyscalls, APutFlushesTheFileThenEveryNewFolderThenItsOwn) {
  ASSERT_TRUE(put("a/b/1"));
  EXPECT_EQ(calls(), "writev (temporary), fdatasync (temporary), fsync /, fsync /a, fsync /a/b");
  // Known folders are not flushed again.
  ASSERT_TRUE(put("a/b/2", {.if_absent = true}));
  EXPECT_EQ(calls(), "writev (temporary), fdatasync (temporary), fsync /a/b");
  ASSERT_TRUE(put("a/c/1"));
  EXPECT_EQ(calls(), "writev (temporary), fdatasync (temporary), fsync /a, fsync /a/c");
  ASSERT_TRUE(put("top"));
  EXPECT_EQ(calls(), "writev (temporary), fdatasync (temporary), fsync /");
}

TEST_F(FileStoreSyscalls, AFolderThatWasRemovedIsFlushedAnew) {
  ASSERT_TRUE(put("a/1"));
  ASSERT_TRUE(run_task(context_, store_->remove({"a/1"})));
  calls();
  ASSERT_TRUE(put("a/1"));
  EXPECT_EQ(calls(), "writev (temporary), fdatasync (temporary), fsync /, fsync /a");
}

TEST_F(FileStoreSyscalls, ANewStoreTrustsNoFolder) {
  ASSERT_TRUE(put("a/1"));
  store_ = *FileStore::open(folder_.path(), pool_.get_executor());
  calls();
  // Who made the folder may have died before it was on disk.
  ASSERT_TRUE(put("a/2"));
  EXPECT_EQ(calls(), "writev (temporary), fdatasync (temporary), fsync /, fsync /a");
}

TEST_F(FileStoreSyscalls, FailedCallsAreErrorsAndLeaveNothing) {
  ASSERT_TRUE(put("a/old"));
  struct Case {
    const char* call;
    int error_number;
    const char* error;
  };
  for (const Case& c : {
           Case{"writev (temporary)", EIO, "unavailable: write a/new: Input/output error"},
           Case{"writev (temporary)", ENOSPC,
                "limit reached: write a/new: No space left on device (free some space on its file "
                "system)"},
           Case{"writev (temporary)", EDQUOT,
                "limit reached: write a/new: Disk quota exceeded (free some space on its file "
                "system)"},
           Case{"fdatasync (temporary)", EIO, "unavailable: flush a/new: Input/output error"},
           Case{"fdatasync (temporary)", ENOSPC,
                "limit reached: flush a/new: No space left on device (free some space on its file "
                "system)"},
       }) {
    fail(c.call, c.error_number);
    Status done = put("a/new");
    ASSERT_FALSE(done) << c.call;
    EXPECT_EQ(done.error().to_string(), c.error);
    EXPECT_EQ(get("a/new"), "not found: object a/new");
    EXPECT_FALSE(has_temporary_file()) << c.call;
  }
  fail("", 0);
  EXPECT_TRUE(put("a/new"));
}

TEST_F(FileStoreSyscalls, APutWhoseFolderCannotBeFlushedIsNoSuccess) {
  fail("fsync /a", EIO);
  Status done = put("a/1");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().to_string(), "unavailable: flush the folder of a/1: Input/output error");
  EXPECT_FALSE(has_temporary_file());
  fail("fsync /", EIO);
  ASSERT_FALSE(put("b/1"));
  // The folder is there now, but not known to be on disk: the next put flushes again.
  fail("", 0);
  calls();
  ASSERT_TRUE(put("b/1"));
  EXPECT_EQ(calls(), "writev (temporary), fdatasync (temporary), fsync /, fsync /b");
}

// The object is in its place then, but a crash may undo that.
TEST_F(FileStoreSyscalls, WhatWasNotFlushedIsNotTakenForDurable) {
  ASSERT_TRUE(put("a/0"));
  fail("fsync /a", EIO);
  ASSERT_FALSE(put("a/1", {.if_absent = true}));
  const std::string failed = "unavailable: flush the folder of a/1: Input/output error";
  EXPECT_EQ(get("a/1"), failed);
  EXPECT_EQ(put("a/1", {.if_absent = true}).error().to_string(), failed);
  fail("", 0);
  calls();
  EXPECT_EQ(put("a/1", {.if_absent = true}).error().code, ErrorCode::kConflict);
  EXPECT_EQ(calls(), "writev (temporary), fdatasync (temporary), fsync /a");
  EXPECT_EQ(get("a/1"), "0123456789abc");
  EXPECT_EQ(calls(), "fsync /a, pread /a/1");
  EXPECT_EQ(get("a/1"), "0123456789abc");
  EXPECT_EQ(calls(), "pread /a/1");
}

TEST_F(FileStoreSyscalls, PartialWritesAndReadsAreContinued) {
  for (std::size_t most : {1, 3, 10, 11}) {
    {
      std::lock_guard lock(recorder.mutex);
      recorder.most_bytes = most;
    }
    ASSERT_TRUE(put("k")) << most;
    EXPECT_EQ(get("k"), "0123456789abc") << most;
  }
}

TEST_F(FileStoreSyscalls, AFailedReadIsUnavailable) {
  ASSERT_TRUE(put("a/1"));
  ASSERT_TRUE(put("a/2"));
  fail("pread /a/1", EIO);
  EXPECT_EQ(get("a/1"), "unavailable: read a/1: Input/output error");
  EXPECT_EQ(get("a/2"), "0123456789abc");
}

}  // namespace
}  // namespace weir::storage
