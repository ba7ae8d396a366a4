#include "storage/open_object_store.h"

#include "storage/object_store_contract.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace weir::storage {
namespace {

class OpenObjectStore : public testing::Test {
 public:
  ~OpenObjectStore() override { pool_.join(); }

 protected:
  auto open(const std::string& url) { return open_object_store(url, clock_, pool_.get_executor()); }
  std::string error_of(const std::string& url) {
    auto store = open(url);
    if (store) return "opened";
    EXPECT_EQ(store.error().code, ErrorCode::kInvalid);
    return store.error().message;
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  boost::asio::thread_pool pool_{1};
  TemporaryFolder folder_;
};

TEST_F(OpenObjectStore, OpensFoldersInBothForms) {
  for (std::string form : {"file:", "file://"}) {
    auto path = folder_.path() / (form == "file:" ? "short" : "long");
    auto store = open(form + path.string());
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE(run_task(context_, (*store)->put("k", Chain(Slice::copy_of("x")))));
    EXPECT_TRUE(std::filesystem::exists(path / "k"));
  }
}

TEST_F(OpenObjectStore, ReadOnlyChangesNothing) {
  const auto path = folder_.path() / "store";
  const auto open_to_read = [&] {
    return open_object_store("file:" + path.string(), clock_, pool_.get_executor(),
                             StoreAccess::kReadOnly);
  };
  auto missing = open_to_read();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kInvalid);
  EXPECT_NE(missing.error().message.find("no such folder"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));

  std::filesystem::create_directory(path);
  std::ofstream(path / "k") << "x";
  auto store = open_to_read();
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(run_task(context_, (*store)->get("k")).value().size(), 1U);
  EXPECT_FALSE(run_task(context_, (*store)->put("l", Chain(Slice::copy_of("x")))));
  EXPECT_FALSE(run_task(context_, (*store)->remove({"k"})));
  store->reset();
  const std::filesystem::directory_iterator entries(path);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST_F(OpenObjectStore, OpensMemory) {
  auto store = open("memory:");
  ASSERT_TRUE(store);
  EXPECT_TRUE(run_task(context_, (*store)->put("k", Chain())));
}

TEST_F(OpenObjectStore, NamesTheKindsForOthers) {
  for (const char* url :
       {"s3:bucket/prefix", "/var/lib/weir", "", "memory:x", "memory", "FILE:/x"}) {
    std::string error = error_of(url);
    EXPECT_NE(error.find(std::string("'") + url + "'"), std::string::npos) << error;
    EXPECT_NE(error.find("file:PATH and memory:"), std::string::npos) << error;
  }
  for (const char* url : {"file:", "file://", "file://host/path"}) {
    EXPECT_NE(error_of(url).find("names no folder"), std::string::npos) << url;
  }
}

TEST_F(OpenObjectStore, OpensS3WithoutARequest) {
  ASSERT_EQ(setenv("AWS_ACCESS_KEY_ID", "AK", 1), 0);
  ASSERT_EQ(setenv("AWS_SECRET_ACCESS_KEY", "SK", 1), 0);
  auto store = open("s3://bucket/prefix?endpoint=http://127.0.0.1:1");
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_FALSE(run_task(context_, (*store)->head("k")));
  EXPECT_NE(error_of("s3://bucket?endpoint=nowhere").find("endpoint 'nowhere'"), std::string::npos);
  EXPECT_NE(error_of("s3://bucket?region=x&ca=/nowhere").find("/nowhere"), std::string::npos);
}

TEST_F(OpenObjectStore, TellsVolatileStores) {
  EXPECT_TRUE(is_volatile_store("memory:"));
  EXPECT_FALSE(is_volatile_store("file:memory:"));
}

}  // namespace
}  // namespace weir::storage
