// A database without the tables of a log: nothing is made there before somebody writes.
#include "metadata/log/open_metadata_log.h"
#include "metadata/log/postgres_test_fixture.h"
#include "metadata/store_claim.h"
#include "metadata/store_marker.h"
#include "storage/memory_store.h"

#include <fmt/format.h>

namespace weir::metadata {
namespace {

class PostgresEmptyTest : public PostgresTest {
 protected:
  // How many tables, indexes and functions there are.
  [[nodiscard]] std::string things() const {
    return server_->execute(fmt::format(
        "SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = '{0}'::regnamespace) + "
        "(SELECT count(*) FROM pg_proc WHERE pronamespace = '{0}'::regnamespace)",
        schema()));
  }
};

// It could belong to another store, and the tables stand in the way of those that are restored.
TEST_F(PostgresEmptyTest, ABrokerThatIsRefusedLeavesAnEmptyDatabaseEmpty) {
  storage::MemoryStore store(clock_);
  ASSERT_TRUE(run(store.put(std::string(kStoreMarkerKey), Chain(encode_store_marker({3, 4})), {})));
  Rng rng(1);
  auto log = open();
  const auto claim = [&] { return run(claim_store(*log, store, {.log = "l", .store = "s"}, rng)); };
  auto refused = claim();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_TRUE(refused.error().message.contains("is a new log")) << refused.error().message;
  EXPECT_EQ(things(), "0");
  // The log is restored.
  auto restored = open();
  ASSERT_EQ(run(restored->cluster_id({3, 4})).value(), (Uuid{3, 4}));
  EXPECT_EQ(claim().value(), (Uuid{3, 4}));
}

TEST_F(PostgresEmptyTest, AnEmptyDatabaseReadsAsAnEmptyLogUntilSomebodyWrites) {
  auto log = open();
  EXPECT_EQ(run(log->tail()).value(), 0);
  EXPECT_TRUE(run(log->read(0, 1_MiB)).value().empty());
  EXPECT_EQ(run(log->latest_snapshot()).value().manifest_key, "");
  EXPECT_EQ(run(log->cluster_id({})).value(), Uuid());
  EXPECT_EQ(things(), "0");
  auto other = open();
  ASSERT_EQ(append(*other, "a").value().position, 1);
  EXPECT_EQ(run(log->tail()).value(), 1);
  EXPECT_EQ(entries(*log).at(1), "a");
  EXPECT_EQ(append(*log, "b").value().position, 2);
}

// Also when the connection was lost meanwhile.
TEST_F(PostgresEmptyTest, AnEmptyDatabaseStaysOneOverAnOutage) {
  auto log = open();
  EXPECT_EQ(run(log->tail()).value(), 0);
  server_->crash();
  EXPECT_EQ(run(log->tail()).error().code, ErrorCode::kUnavailable);
  server_->start();
  const MonoTime end = clock_.now() + std::chrono::seconds(30);
  while (!run(log->tail()) && clock_.now() < end)
    run_task(loop, clock_.sleep(std::chrono::milliseconds(20)));
  EXPECT_EQ(run(log->tail()).value(), 0);
  EXPECT_EQ(things(), "0");
  EXPECT_EQ(append_at_last(*log, "a"), 1);
}

TEST_F(PostgresEmptyTest, WhoeverOnlyReadsRefusesAnEmptyDatabase) {
  auto refused = open_metadata_log(url_, clock_, {.missing = MissingLog::kFail});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(refused.error().message.contains("no metadata log")) << refused.error().message;
  EXPECT_EQ(things(), "0");
  ASSERT_TRUE(append(*open(), "a"));
  EXPECT_TRUE(open_metadata_log(url_, clock_, {.missing = MissingLog::kFail}));
}

TEST_F(PostgresEmptyTest, ARoleThatMayNotMakeTheTablesIsRefusedAtTheStart) {
  server_->execute("CREATE ROLE poor_" + schema() + " LOGIN");
  server_->execute("GRANT USAGE ON SCHEMA " + schema() + " TO poor_" + schema());
  std::string url = url_;
  url.replace(url.find("weir@"), 4, "poor_" + schema());
  auto refused = PostgresLog::open(url, clock_, options_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(refused.error().message.contains("may not create")) << refused.error().message;
}

}  // namespace
}  // namespace weir::metadata
