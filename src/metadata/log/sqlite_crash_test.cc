// Processes that share one log are killed at random; what was answered to any of them must be in
// the log.
#include "metadata/log/sqlite_log.h"
#include "runtime/rng.h"
#include "runtime/temporary_folder.h"
#include "runtime/test_loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

namespace weir::metadata {
namespace {

constexpr int kTasks = 4;
constexpr Position kKept = 300;  // what trimming leaves

// "B.2.17:xxxx…" of a length that depends on the number.
std::string entry_of(const std::string& name, int number) {
  const std::string head = name + "." + std::to_string(number) + ":";
  return head + std::string(static_cast<std::size_t>(number) * 7919 % 20'000, 'x');
}

// Appends until it is killed. Each answer becomes a line "POSITION NAME NUMBER" of `acks`.
Task<void> append_for_ever(SqliteLog& log, std::string name, int acks) {
  Position known = 0;
  for (int number = 0;; ++number) {
    auto appended = co_await log.append(Slice::copy_of(entry_of(name, number)), known);
    if (!appended) ::_exit(3);
    known = appended->position;
    const std::string line =
        std::to_string(known) + " " + name + " " + std::to_string(number) + "\n";
    if (::write(acks, line.data(), line.size()) < 0) ::_exit(4);
    if (number % 50 != 49 || known <= kKept) continue;
    if (!co_await log.record_snapshot({known, "snapshots/" + std::to_string(known)})) ::_exit(5);
    if (!co_await log.trim(known - kKept)) ::_exit(6);
  }
}

pid_t start_appender(const std::string& path, const std::string& name, int acks) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  SystemClock clock;
  boost::asio::io_context loop;
  auto log = SqliteLog::open(path, clock);
  if (!log) ::_exit(2);
  for (int task = 0; task < kTasks; ++task) {
    boost::asio::co_spawn(loop, append_for_ever(**log, name + "." + std::to_string(task), acks),
                          boost::asio::detached);
  }
  loop.run();
  ::_exit(1);
}

// Reaps it, and tells that it did not end by itself.
void kill_appender(pid_t child) {
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the appender gave up with exit code " << WEXITSTATUS(status);
}

class Acknowledged {
 public:
  void add(const std::string& line) {
    std::istringstream words(line);
    Position position = 0;
    std::string name;
    int number = 0;
    words >> position >> name >> number;
    const bool fresh = entries_.emplace(position, entry_of(name, number)).second;
    EXPECT_TRUE(fresh) << "position " << position << " was given twice";
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  // Every entry that was answered and not trimmed is in the log, and the log has no hole.
  void expect_in(boost::asio::io_context& loop, SqliteLog& log) const {
    std::map<Position, std::string> stored;
    Position trimmed = trimmed_of(loop, log);
    for (bool more = true; more;) {
      const Position at = stored.empty() ? trimmed : stored.rbegin()->first;
      auto read = run_task(loop, log.read(at, 4_MiB));
      if (!read && read.error().code == ErrorCode::kNotFound) {  // trimmed in between
        stored.clear();
        trimmed = trimmed_of(loop, log);
        continue;
      }
      ASSERT_TRUE(read) << read.error().to_string();
      for (Position expected = at; const LogEntry& entry : *read) {
        ASSERT_EQ(entry.position, ++expected);
        stored.emplace(expected, as_text(entry.bytes.bytes()));
      }
      more = !read->empty();
    }
    for (auto it = entries_.upper_bound(trimmed); it != entries_.end(); ++it) {
      ASSERT_TRUE(stored.contains(it->first)) << "answered entry " << it->first << " is lost";
      ASSERT_EQ(stored[it->first], it->second);
    }
  }

 private:
  // At least: trims go kKept behind a snapshot.
  static Position trimmed_of(boost::asio::io_context& loop, SqliteLog& log) {
    return std::max<Position>(0, run_task(loop, log.latest_snapshot()).value().position - kKept);
  }

  std::map<Position, std::string> entries_;
};

TEST(SqliteCrash, WhatWasAnsweredSurvivesTheKillOfEitherOfTwoProcesses) {
  TemporaryFolder folder;
  SystemClock clock;
  boost::asio::io_context loop;  // outlives the logs, whose threads post to it
  const std::string path = (folder.path() / "metadata.db").string();
  const std::string steady_acks = (folder.path() / "acks").string();
  std::FILE* steady_file = std::fopen(steady_acks.c_str(), "a");
  ASSERT_NE(steady_file, nullptr);
  const pid_t steady = start_appender(path, "B", ::fileno(steady_file));
  Acknowledged acknowledged;
  Rng rng(20260731);
  for (int round = 0; round < 12; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = start_appender(path, "A" + std::to_string(round), ends[1]);
    ::close(ends[1]);
    std::FILE* acks = ::fdopen(ends[0], "r");
    const std::uint64_t kill_after = 1 + rng.below(60);
    char line[128];
    for (std::uint64_t i = 0; std::fgets(line, sizeof line, acks) != nullptr; ++i) {
      acknowledged.add(line);
      if (i + 1 == kill_after) kill_appender(child);
    }
    std::fclose(acks);
    auto log = SqliteLog::open(path, clock);
    ASSERT_TRUE(log) << log.error().to_string();
    acknowledged.expect_in(loop, **log);
    if (testing::Test::HasFatalFailure()) break;
  }
  kill_appender(steady);
  std::fclose(steady_file);
  const std::size_t by_killed = acknowledged.size();
  std::ifstream lines(steady_acks);
  for (std::string line; std::getline(lines, line);) acknowledged.add(line);
  EXPECT_GT(acknowledged.size(), by_killed);
  auto log = SqliteLog::open(path, clock);
  ASSERT_TRUE(log) << log.error().to_string();
  acknowledged.expect_in(loop, **log);
}

// Processes that open a log that does not exist yet, at the same moment, make one log.
TEST(SqliteCrash, ManyProcessesMayCreateTheLogAtOnce) {
  for (int round = 0; round < 5; ++round) {
    TemporaryFolder folder;
    const std::string path = (folder.path() / "metadata.db").string();
    int start[2];
    ASSERT_EQ(::pipe(start), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::close(start[1]);
        char byte = 0;
        if (::read(start[0], &byte, 1) != 0) ::_exit(2);  // ends when the parent closes its end
        SystemClock clock;
        boost::asio::io_context loop;
        auto log = SqliteLog::open(path, clock);
        if (!log) {
          std::fprintf(stderr, "%s\n", log.error().to_string().c_str());
          ::_exit(3);
        }
        auto appended = run_task(loop, (*log)->append(Slice::copy_of("x"), 0));
        log->reset();
        ::_exit(appended ? 0 : 4);
      }
      children.push_back(child);
    }
    ::close(start[0]);
    ::close(start[1]);
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
    SystemClock clock;
    boost::asio::io_context loop;
    auto log = SqliteLog::open(path, clock);
    ASSERT_TRUE(log) << log.error().to_string();
    EXPECT_EQ(run_task(loop, (*log)->tail()).value(), 4);
  }
}

}  // namespace
}  // namespace weir::metadata
