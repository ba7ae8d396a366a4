// A PostgreSQL server that is paused, killed, cut off, or of no use.
#include "metadata/log/append_queue.h"
#include "metadata/log/postgres_test_fixture.h"
#include "metadata/log/postgres_test_proxy.h"

#include <atomic>
#include <thread>

namespace weir::metadata {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Cut = PostgresTestProxy::Cut;

class PostgresFaultTest : public PostgresTest {
 protected:
  static void wait_until(const bool& done) {
    loop.restart();
    while (!done) loop.run_one();
  }
};

TEST_F(PostgresFaultTest, APausedServerIsNoticedAndComesBack) {
  auto log = open();
  ASSERT_EQ(append(*log, "a").value().position, 1);
  server_->pause();
  const MonoTime start = clock_.now();
  auto paused = append(*log, "b");
  const Duration took = clock_.now() - start;
  auto later = append(*log, "c");
  server_->resume();
  ASSERT_FALSE(paused);
  EXPECT_EQ(paused.error().code, ErrorCode::kTimeout) << paused.error().to_string();
  EXPECT_GE(took, options_.patience);
  EXPECT_LT(took, seconds(8));
  EXPECT_EQ(later.error().code, ErrorCode::kUnavailable) << later.error().to_string();
  const Position last = append_at_last(*log, "d");
  const auto all = entries(*log);
  EXPECT_EQ(all.at(1), "a");
  EXPECT_EQ(all.at(last), "d");
  EXPECT_EQ(all.size(), static_cast<std::size_t>(last));
  for (const auto& [position, entry] : all) EXPECT_NE(entry, "c");  // it was never sent
}

TEST_F(PostgresFaultTest, AServerThatCrashedIsUsedAgainWithoutARestart) {
  auto log = open();
  const std::uint64_t before = log->incarnation();
  ASSERT_EQ(append(*log, "a").value().position, 1);
  server_->crash();
  auto failed = append(*log, "b");
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable) << failed.error().to_string();
  EXPECT_FALSE(run(log->tail()));
  server_->start();
  EXPECT_EQ(append_at_last(*log, "c"), 2);
  EXPECT_GT(log->incarnation(), before);
}

TEST_F(PostgresFaultTest, OpensWithoutTheServerAndFindsItLater) {
  server_->crash();
  auto log = open();
  EXPECT_EQ(run(log->tail()).error().code, ErrorCode::kUnavailable);
  server_->start();
  EXPECT_EQ(append_at_last(*log, "a"), 1);
}

TEST_F(PostgresFaultTest, AnAppendWhoseAnswerIsLostStands) {
  PostgresTestProxy proxy(server_->socket_folder());
  auto log = open(PostgresTestServer::url_at(url_, proxy.socket_folder()));
  ASSERT_EQ(append(*log, "a").value().position, 1);
  proxy.cut_at("needle", Cut::kAfter);
  auto lost = append(*log, "needle");
  EXPECT_EQ(lost.error().code, ErrorCode::kUnavailable) << lost.error().to_string();
  EXPECT_EQ(proxy.cuts(), 1);
  EXPECT_EQ(append_at_last(*log, "b"), 3);
  EXPECT_EQ(entries(*log).at(2), "needle");
}

// What comes behind the commit fails, with the code of a full disk: the read of what others
// appended. PostgreSQL lets a function of the user's stand for one of its own.
TEST_F(PostgresFaultTest, AnErrorBehindTheCommitIsNoRefusal) {
  server_->execute("CREATE FUNCTION " + schema() +
                   ".current_setting(name text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN "
                   "IF name = 'weir.first' THEN RAISE EXCEPTION 'no space left' USING ERRCODE = "
                   "'53100'; END IF; RETURN pg_catalog.current_setting(name); END $$");
  auto log = open(url_ + "%2Cpg_catalog");
  auto appended = append(*log, "a");
  ASSERT_FALSE(appended);
  EXPECT_TRUE(appended.error().message.contains("53100")) << appended.error().message;
  EXPECT_NE(appended.error().code, ErrorCode::kRefused);
  EXPECT_EQ(entries(*log).at(1), "a");
}

TEST_F(PostgresFaultTest, AnAppendThatNeverArrivedDoesNotStand) {
  PostgresTestProxy proxy(server_->socket_folder());
  auto log = open(PostgresTestServer::url_at(url_, proxy.socket_folder()));
  proxy.cut_at("needle", Cut::kBefore);
  EXPECT_EQ(append(*log, "needle").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(append_at_last(*log, "b"), 1);
}

// Two brokers append as fast as they can while the server crashes and comes back.
TEST_F(PostgresFaultTest, WhatWasAnsweredStandsWhenTheServerCrashes) {
  std::map<Position, std::string> answered;
  std::mutex mutex;
  std::atomic<bool> stop = false;
  static std::deque<boost::asio::io_context> loops;
  std::vector<std::thread> brokers;
  for (const std::string name : {"one", "two"}) {
    brokers.emplace_back([&, name, log = open(), &loop = loops.emplace_back()] {
      for (int i = 0; !stop; ++i) {
        const std::string entry = name + "." + std::to_string(i);
        auto appended = run_task(loop, log->append(Slice::copy_of(entry), 1'000'000'000));
        std::lock_guard lock(mutex);
        if (appended) EXPECT_TRUE(answered.emplace(appended->position, entry).second);
      }
    });
  }
  auto wait_for_more = [&] {
    std::size_t before = 0;
    for (int i = 0; i < 1000; ++i) {
      {
        std::lock_guard lock(mutex);
        if (i == 0) before = answered.size();
        if (answered.size() >= before + 50) return;
      }
      std::this_thread::sleep_for(milliseconds(20));
    }
    ADD_FAILURE() << "appends do not go on";
  };
  for (int round = 0; round < 2; ++round) {
    wait_for_more();
    server_->crash();
    server_->start();
  }
  wait_for_more();
  stop = true;
  for (std::thread& broker : brokers) broker.join();
  auto first = open();
  auto second = open();
  const auto all = entries(*first);
  EXPECT_EQ(all, entries(*second));
  for (const auto& [position, entry] : answered) EXPECT_EQ(all.at(position), entry);
}

TEST_F(PostgresFaultTest, AServerThatMayLoseWhatItAcknowledgedIsRefused) {
  auto refused = PostgresLog::open(url_ + "%20-csynchronous_commit%3Doff", clock_, options_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(refused.error().message.contains("synchronous_commit = off"))
      << refused.error().message;
  EXPECT_TRUE(refused.error().message.contains("metadata.log.allow.unsafe=true"));

  auto log = open();
  server_->crash();
  server_->start({"fsync=off"});
  auto fsync = PostgresLog::open(url_, clock_, options_);
  // Also where the server was durable when the broker started.
  while (true) {
    auto tail = run(log->tail());
    ASSERT_FALSE(tail);
    if (tail.error().message.contains("fsync = off")) break;
  }
  options_.allow_unsafe = true;
  EXPECT_EQ(append_at_last(*open(), "a"), 1);
  server_->crash();
  server_->start();
  ASSERT_FALSE(fsync);
  EXPECT_EQ(fsync.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(fsync.error().message.contains("fsync = off")) << fsync.error().message;
  EXPECT_EQ(append_at_last(*log, "b"), 2);
}

TEST_F(PostgresFaultTest, AServerThatIsToldToLoseCommitsLosesNoneOfASessionThatIsOpen) {
  auto log = open();
  ASSERT_TRUE(append(*log, "first"));
  server_->execute("CREATE TABLE " + schema() + ".seen (setting text)");
  server_->execute("CREATE FUNCTION " + schema() +
                   ".note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES "
                   "(current_setting('synchronous_commit')); RETURN NULL; END $$");
  server_->execute("CREATE TRIGGER note AFTER INSERT ON " + schema() +
                   ".weir_log EXECUTE FUNCTION " + schema() + ".note()");
  server_->execute("ALTER SYSTEM SET synchronous_commit = off");
  server_->execute("SELECT pg_reload_conf()");
  const auto is_off = [&] { return server_->execute("SHOW synchronous_commit") == "off"; };
  while (!is_off()) std::this_thread::sleep_for(milliseconds(1));
  ASSERT_TRUE(append(*log, "a"));
  EXPECT_EQ(server_->execute("SELECT setting FROM " + schema() + ".seen"), "on");
  server_->execute("ALTER SYSTEM RESET synchronous_commit");
  server_->execute("SELECT pg_reload_conf()");
  while (is_off()) std::this_thread::sleep_for(milliseconds(1));
}

// PostgreSQL lets a function of the user's stand for one of its own.
TEST_F(PostgresFaultTest, AnOldServerIsRefused) {
  server_->execute("CREATE FUNCTION " + schema() +
                   ".current_setting(name text) RETURNS text LANGUAGE sql AS "
                   "$$ SELECT CASE name WHEN 'server_version_num' THEN '120022' "
                   "WHEN 'server_version' THEN '12.22' ELSE 'on' END $$");
  auto refused = PostgresLog::open(url_ + "%2Cpg_catalog", clock_, options_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().to_string(),
            "invalid: metadata log: postgres: the server has version 12.22; the metadata log needs "
            "13 or later");
}

TEST_F(PostgresFaultTest, TheTablesOfANewerProgramAreRefusedWhenItSaysSo) {
  EXPECT_EQ(append(*open(), "a").value().position, 1);
  server_->execute("UPDATE " + schema() + ".weir_meta SET version = 7");
  EXPECT_EQ(append(*open(), "b").value().position, 2);
  server_->execute("UPDATE " + schema() + ".weir_meta SET oldest = 6");
  auto refused = PostgresLog::open(url_, clock_, options_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(refused.error().message.contains("schema 7")) << refused.error().message;
}

// A restore drops the tables and makes them anew: a running broker must not make them first.
TEST_F(PostgresFaultTest, ARunningBrokerWaitsForTablesThatAreGone) {
  auto log = open();
  ASSERT_EQ(append(*log, "a").value().position, 1);
  server_->execute("ALTER TABLE " + schema() + ".weir_meta RENAME TO away");
  server_->crash();
  server_->start();
  while (true) {
    auto tail = run(log->tail());
    ASSERT_FALSE(tail);
    if (tail.error().message.contains("are gone")) break;
  }
  server_->execute("ALTER TABLE " + schema() + ".away RENAME TO weir_meta");
  EXPECT_EQ(append_at_last(*log, "b"), 2);
}

TEST_F(PostgresFaultTest, SeveralBrokersMakeTheTablesAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> opened = 0;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      auto log = PostgresLog::open(url_, clock_);
      EXPECT_TRUE(log) << log.error().to_string();
      boost::asio::io_context loop;
      if (log && run_task(loop, (*log)->cluster_id({1, 2})) == Uuid{1, 2}) ++opened;
      log->reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(opened, 6);
}

TEST_F(PostgresFaultTest, PasswordsStayOutOfErrors) {
  for (const char* url :
       {"postgres://user:se%zzcret@host/db", "postgres://h/db?password=secret&sslmode"}) {
    auto log = PostgresLog::open(url, clock_, options_);
    ASSERT_FALSE(log) << url;
    EXPECT_EQ(log.error().code, ErrorCode::kInvalid);
    EXPECT_FALSE(log.error().message.contains("cret")) << log.error().message;
  }
  auto log = open("postgres://user:topsecret@/db?host=/nonexistent");
  const Error error = run(log->tail()).error();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_TRUE(error.message.contains("/nonexistent")) << error.message;
  EXPECT_FALSE(error.message.contains("topsecret")) << error.message;
}

TEST_F(PostgresFaultTest, AParameterOfTheUrlThatIsUnknownIsNamed) {
  const auto error_of = [&](const char* url) {
    return PostgresLog::open(url, clock_, options_).error().message;
  };
  const std::string named = error_of("postgres://user:secret@host/db?foo=bar");
  EXPECT_TRUE(named.ends_with("invalid URI query parameter: \"foo\"")) << named;
  // What could be a part of a password is not.
  for (const char* url : {"postgres://user:sec/r?et=x@host/db", "postgres://h/d?password=s&et=x"}) {
    const std::string hidden = error_of(url);
    EXPECT_FALSE(hidden.contains("et\"")) << hidden;
    EXPECT_TRUE(hidden.ends_with("(the text is not shown, as it may hold a password)")) << hidden;
  }
}

TEST_F(PostgresFaultTest, AnotherBrokersAppendWakesWithoutPolling) {
  options_.poll_interval = seconds(3600);
  auto log = open();
  ASSERT_EQ(append(*log, "a").value().position, 1);
  auto other = open();
  bool woken = false;
  const MonoTime deadline = clock_.now() + seconds(30);
  boost::asio::co_spawn(loop, other->wait_past(1, deadline),
                        [&](const std::exception_ptr&) { woken = true; });
  ASSERT_EQ(append(*log, "b").value().position, 2);
  wait_until(woken);
  EXPECT_LT(clock_.now(), deadline);
}

TEST_F(PostgresFaultTest, PollingWakesWhereNothingNotifies) {
  options_.poll_interval = milliseconds(20);
  auto log = open();
  ASSERT_EQ(append(*log, "a").value().position, 1);
  bool woken = false;
  const MonoTime deadline = clock_.now() + seconds(30);
  boost::asio::co_spawn(loop, log->wait_past(1, deadline),
                        [&](const std::exception_ptr&) { woken = true; });
  server_->execute("INSERT INTO " + schema() + ".weir_log VALUES (2, 'b')");
  wait_until(woken);
  EXPECT_LT(clock_.now(), deadline);
}

TEST(AppendQueue, HasLimitsOfBytesAndOfNumber) {
  const Slice large = Slice::copy_of(std::string(1_MiB, 'x'));
  AppendQueue queue;
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(queue.push({large, 0, {}}));
  EXPECT_EQ(queue.push({large, 0, {}}).error().code, ErrorCode::kThrottled);
  EXPECT_EQ(queue.take_group().size(), 8U);
  EXPECT_TRUE(queue.push({large, 0, {}}));
  AppendQueue many;
  const Slice small = Slice::copy_of("x");
  for (int i = 0; i < 16'384; ++i) ASSERT_TRUE(many.push({small, 0, {}}));
  EXPECT_EQ(many.push({small, 0, {}}).error().code, ErrorCode::kThrottled);
}

}  // namespace
}  // namespace weir::metadata
