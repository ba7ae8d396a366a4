#include "storage/file_store.h"

#include "runtime/task_group.h"
#include "storage/object_store_contract.h"

#include <sys/mount.h>
#include <unistd.h>

#include <fstream>

namespace weir::storage {
namespace {

namespace fs = std::filesystem;

class FileFixture final : public StoreFixture {
 public:
  FileFixture()
      : store_(*FileStore::open(folder_.path() / "new" / "store", pool_.get_executor())) {}
  ~FileFixture() override { pool_.join(); }
  ObjectStore& store() override { return *store_; }

 private:
  TemporaryFolder folder_;
  boost::asio::thread_pool pool_{4};
  std::unique_ptr<FileStore> store_;
};

INSTANTIATE_TEST_SUITE_P(File, ObjectStoreContract,
                         testing::Values(StoreKind{
                             "file", [] { return std::make_unique<FileFixture>(); }}));

class FileStoreTest : public testing::Test {
 public:
  ~FileStoreTest() override { pool_.join(); }

 protected:
  std::unique_ptr<FileStore> open() {
    auto store = FileStore::open(root(), pool_.get_executor());
    EXPECT_TRUE(store) << store.error().to_string();
    return std::move(*store);
  }
  [[nodiscard]] fs::path root() const { return folder_.path(); }
  Status put(FileStore& store, const std::string& key, std::string_view body,
             PutOptions options = {}) {
    return run_task(context_, store.put(key, Chain(Slice::copy_of(body)), options));
  }
  // Files below ~tmp.
  [[nodiscard]] std::size_t temporary_files() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root() / "~tmp")) {
      count += entry.is_regular_file() ? 1 : 0;
    }
    return count;
  }
  static void write_file(const fs::path& path, std::string_view text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  TemporaryFolder folder_;
  boost::asio::thread_pool pool_{4};
  boost::asio::io_context context_;
};

TEST_F(FileStoreTest, AnObjectIsAFileOfItsName) {
  auto store = open();
  ASSERT_TRUE(put(*store, "data/ab/1", "hello"));
  std::ifstream file(root() / "data/ab/1");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "hello");
  write_file(root() / "by/hand", "written by a person");
  auto page = run_task(context_, store->list("", "", 10));
  ASSERT_TRUE(page);
  ASSERT_EQ(page->objects.size(), 2U);
  EXPECT_EQ(page->objects[0].key, "by/hand");
}

TEST_F(FileStoreTest, NoTemporaryFileStays) {
  auto store = open();
  ASSERT_TRUE(put(*store, "a/b", "x"));
  ASSERT_TRUE(put(*store, "a/c", "x", {.if_absent = true}));
  EXPECT_FALSE(put(*store, "a/c", "x", {.if_absent = true}));
  EXPECT_FALSE(put(*store, "a", "x"));
  EXPECT_FALSE(put(*store, "a/b/c", "x"));
  EXPECT_EQ(temporary_files(), 0U);
  store.reset();
  EXPECT_TRUE(fs::is_empty(root() / "~tmp"));
}

TEST_F(FileStoreTest, OpenRemovesWhatDeadStoresLeftAndNothingElse) {
  auto living = open();
  fs::path own = fs::directory_iterator(root() / "~tmp")->path();
  write_file(own / "0", "being written");
  write_file(root() / "~tmp/12345-0/7", "left by a process that was killed");
  auto other = open();
  EXPECT_TRUE(fs::exists(own / "0"));
  EXPECT_FALSE(fs::exists(root() / "~tmp/12345-0"));
  fs::remove(own / "0");
}

TEST_F(FileStoreTest, EmptyFoldersGo) {
  auto store = open();
  ASSERT_TRUE(put(*store, "a/b/c/1", "x"));
  ASSERT_TRUE(put(*store, "a/2", "x"));
  ASSERT_TRUE(run_task(context_, store->remove({"a/b/c/1"})));
  EXPECT_FALSE(fs::exists(root() / "a/b"));
  EXPECT_TRUE(fs::exists(root() / "a/2"));
}

TEST_F(FileStoreTest, PutsIntoAFolderThatAnotherStoreRemoved) {
  auto one = open();
  auto two = open();
  ASSERT_TRUE(put(*one, "a/b/1", "x"));
  ASSERT_TRUE(run_task(context_, two->remove({"a/b/1"})));
  ASSERT_FALSE(fs::exists(root() / "a"));
  Status again = put(*one, "a/b/2", "y");
  EXPECT_TRUE(again) << again.error().to_string();
  EXPECT_TRUE(fs::exists(root() / "a/b/2"));
}

TEST_F(FileStoreTest, StoresOnOneFolderDoNotDisturbEachOther) {
  auto one = open();
  auto two = open();
  TaskGroup group;
  int failed = 0;
  auto work = [&](FileStore* store, std::string key) -> Task<void> {
    for (int i = 0; i < 30; ++i) {
      Status done = co_await store->put(key, Chain(Slice::copy_of(key)), {});
      auto got = co_await store->get(key);
      if (!done || !got || as_text(got->bytes()) != key) ++failed;
      co_await store->remove({key});
    }
  };
  group.spawn(context_.get_executor(), work(one.get(), "x/y/1"));
  group.spawn(context_.get_executor(), work(one.get(), "x/y/2"));
  group.spawn(context_.get_executor(), work(two.get(), "x/y/3"));
  group.spawn(context_.get_executor(), work(two.get(), "x/z/4"));
  run_task(context_, group.join());
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(temporary_files(), 0U);
}

TEST_F(FileStoreTest, OpenNamesAPathThatIsNoFolder) {
  write_file(root() / "file", "x");
  for (const char* below : {"file", "file/below"}) {
    auto store = FileStore::open(root() / below, pool_.get_executor());
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::kInvalid);
    EXPECT_NE(store.error().message.find("file"), std::string::npos);
  }
}

TEST_F(FileStoreTest, AnUnreadableObjectIsUnavailable) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  auto store = open();
  ASSERT_TRUE(put(*store, "a/secret", "x"));
  ASSERT_TRUE(put(*store, "a/open", "y"));
  fs::permissions(root(), fs::perms(0755));
  fs::permissions(root() / "a/secret", fs::perms::none);
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::seteuid(kNobody), 0);
  auto secret = run_task(context_, store->get("a/secret"));
  auto open_one = run_task(context_, store->get("a/open"));
  Status refused = put(*store, "a/new", "z");
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_FALSE(secret);
  EXPECT_EQ(secret.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(secret.error().message, "open a/secret: Permission denied");
  EXPECT_TRUE(open_one);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
}

TEST_F(FileStoreTest, ARangeOfATruncatedObjectIsRefused) {
  auto store = open();
  ASSERT_TRUE(put(*store, "k", "0123456789"));
  fs::resize_file(root() / "k", 4);
  EXPECT_EQ(run_task(context_, store->get_range("k", {0, 4}))->size(), 4U);
  EXPECT_EQ(run_task(context_, store->get_range("k", {2, 8})).error().code, ErrorCode::kInvalid);
}

// A file system of one MiB, mounted at the folder.
class SmallFileSystem {
 public:
  explicit SmallFileSystem(fs::path at) : at_(std::move(at)) {
    mounted_ = ::mount("tmpfs", at_.c_str(), "tmpfs", 0, "size=1m") == 0;
  }
  ~SmallFileSystem() {
    if (mounted_) ::umount2(at_.c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool mounted() const { return mounted_; }

 private:
  fs::path at_;
  bool mounted_ = false;
};

TEST_F(FileStoreTest, AFullFileSystemIsExhaustedUntilThereIsSpace) {
  SmallFileSystem small(root());
  if (!small.mounted()) GTEST_SKIP() << "needs the right to mount a small file system";
  auto store = open();
  ASSERT_TRUE(put(*store, "a/small", std::string(300'000, 'a')));
  Status full = put(*store, "a/big", std::string(900'000, 'b'));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kExhausted);
  EXPECT_NE(full.error().message.find("No space left"), std::string::npos) << full.error().message;
  EXPECT_NE(full.error().message.find("a/big"), std::string::npos) << full.error().message;
  EXPECT_EQ(temporary_files(), 0U);
  EXPECT_FALSE(fs::exists(root() / "a/big"));
  EXPECT_EQ(run_task(context_, store->get("a/small"))->size(), 300'000U);
  ASSERT_TRUE(run_task(context_, store->remove({"a/small"})));
  EXPECT_TRUE(put(*store, "a/big", std::string(900'000, 'b')));
}

}  // namespace
}  // namespace weir::storage
