// The contract of object stores (src/storage/object_store_contract_test.cc), and that of metadata
// logs (src/metadata/log/metadata_log_contract_test.cc) for the one in the store, on the S3 store
// that the environment names: S3_CONTRACT_URL, and AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY. The
// bucket is made if it is not there; every test has a prefix of its own.
#include "metadata/log/metadata_log_contract.h"
#include "metadata/log/object_log_thread.h"
#include "storage/conditional_put_probe.h"
#include "storage/object_store_contract.h"
#include "storage/retrying_store.h"
#include "storage/s3/open_s3_store.h"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

namespace weir::storage {
namespace {

std::string url_with_prefix(const std::string& prefix) {
  const char* given = std::getenv("S3_CONTRACT_URL");
  std::string url = given != nullptr ? given : "";
  std::size_t mark = std::min(url.find('?'), url.size());
  return url.substr(0, mark) + "/" + prefix + url.substr(mark);
}

SystemClock& system_clock() {
  static SystemClock clock;
  return clock;
}

std::unique_ptr<s3::S3Store> open_store(s3::S3StoreOptions options = {}) {
  static int count = 0;
  // Runs of the suite may share a bucket.
  static const std::uint64_t run = Rng::from_entropy().next();
  auto opened =
      s3::open_s3_store(url_with_prefix(fmt::format("t{:x}/{}", run, ++count)),
                        s3::system_environment(), system_clock(), Rng::from_entropy(), options);
  if (!opened) throw std::runtime_error(opened.error().to_string());
  return std::move(*opened);
}

class RealFixture final : public StoreFixture {
 public:
  ObjectStore& store() override { return *store_; }

 private:
  std::unique_ptr<s3::S3Store> store_ = open_store();
};

class LogOnS3 final : public metadata::LogUnderTest {
 public:
  std::shared_ptr<metadata::MetadataLog> open(Clock& clock) override {
    return thread_.open(store_, clock);
  }

 private:
  metadata::ObjectLogThread thread_;
  std::unique_ptr<s3::S3Store> raw_ = open_store();
  RetryingStore store_{*raw_, system_clock(), Rng::from_entropy(), {}};
};

INSTANTIATE_TEST_SUITE_P(RealS3, ObjectStoreContract,
                         testing::Values(StoreKind{
                             "s3", [] { return std::make_unique<RealFixture>(); }, false}));

TEST(RealS3, LargeObjectsGoUpInParts) {
  constexpr std::size_t kPart = 5 << 20;  // S3 takes no smaller ones
  boost::asio::io_context context;
  auto store = open_store({.multipart_above = kPart, .part_size = kPart});
  std::string body;
  for (int i = 0; body.size() < 2 * kPart + 1000; ++i) body += fmt::format("{},", i);
  Chain chain;
  for (std::size_t at = 0; at < body.size(); at += 100'000) {
    chain.append(Slice::copy_of(std::string_view(body).substr(at, 100'000)));
  }
  Status done = run_task(context, store->put("large", chain, {}));
  ASSERT_TRUE(done) << done.error().message;
  auto got = run_task(context, store->get("large"));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(as_text(got->bytes()), body);
}

TEST(RealS3, HonoursConditionalPuts) {
  boost::asio::io_context context;
  auto store = open_store();
  RetryingStore retrying(*store, system_clock(), Rng(1), {});
  Rng rng(2);
  Status done =
      run_task(context, probe_conditional_put(retrying, store->client().target().describe(), rng));
  EXPECT_TRUE(done) << done.error().message;
}

}  // namespace
}  // namespace weir::storage

namespace weir::metadata {

INSTANTIATE_TEST_SUITE_P(RealS3, MetadataLogContract,
                         testing::Values([] { return std::make_unique<storage::LogOnS3>(); }));

}  // namespace weir::metadata

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  using namespace weir;
  using namespace weir::storage;
  if (std::getenv("S3_CONTRACT_URL") == nullptr) {
    fmt::print(stderr,
               "set S3_CONTRACT_URL, for example s3://bucket?endpoint=http://127.0.0.1:80\n");
    return 2;
  }
  {
    boost::asio::io_context context;
    auto store = s3::open_s3_store(std::getenv("S3_CONTRACT_URL"), s3::system_environment(),
                                   system_clock(), Rng::from_entropy());
    if (!store) {
      fmt::print(stderr, "{}\n", store.error().to_string());
      return 2;
    }
    auto made = run_task(context, (*store)->client().send({.method = "PUT"}));
    if (!made) fmt::print("bucket: {}\n", made.error().to_string());
  }
  return RUN_ALL_TESTS();
}
