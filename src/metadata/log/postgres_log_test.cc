#include "metadata/log/postgres_log.h"

#include "metadata/log/metadata_log_contract.h"
#include "metadata/log/postgres_test_server.h"

namespace weir::metadata {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PostgresUnderTest final : public LogUnderTest {
 public:
  PostgresUnderTest() : url_(PostgresTestServer::shared().fresh_url()) {}
  std::shared_ptr<MetadataLog> open(Clock& clock) override {
    auto log = PostgresLog::open(url_, clock);
    EXPECT_TRUE(log) << log.error().to_string();
    return *std::move(log);
  }

 private:
  std::string url_;
};

std::vector<LogMaker> makers() {
  if (!PostgresTestServer::available()) return {};
  return {[] { return std::make_unique<PostgresUnderTest>(); }};
}

INSTANTIATE_TEST_SUITE_P(Postgres, MetadataLogContract, ::testing::ValuesIn(makers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MetadataLogContract);

}  // namespace
}  // namespace weir::metadata
