// Consumers whose histories are judged: members of a group, readers of all partitions, and a dump
// of what is stored.
#include "history.h"

#include <map>
#include <random>

namespace weir::clients {
namespace {

constexpr int kAskMs = 5000;
constexpr std::int64_t kCommitEveryUs = 100'000;

struct Member {
  History history;
  Queue commits;  // their outcomes
  std::int64_t committed_at = now_us();
};

struct Commit {
  Member& member;
  const std::int64_t since = now_us();
};

void on_commit(rd_kafka_t* /*consumer*/, rd_kafka_resp_err_t error,
               rd_kafka_topic_partition_list_t* partitions, void* opaque) {
  const auto* commit = static_cast<const Commit*>(opaque);
  if (partitions != nullptr) commit->member.history.committed(*partitions, error, commit->since);
}

void commit_and_wait(rd_kafka_t* consumer, Member& member) {
  Commit commit{.member = member};
  rd_kafka_commit_queue(consumer, nullptr, nullptr, on_commit, &commit);
}

void commit(rd_kafka_t* consumer, Member& member) {
  auto commit = std::make_unique<Commit>(Commit{.member = member});
  auto done = [](rd_kafka_t* by, rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* what,
                 void* opaque) {
    on_commit(by, error, what, opaque);
    delete static_cast<Commit*>(opaque);
  };
  const auto error =
      rd_kafka_commit_queue(consumer, nullptr, member.commits.get(), done, commit.get());
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) std::ignore = commit.release();
}

// The offsets to go on from are asked for here, so that the history knows them; what the group has
// not committed begins at its start.
void on_rebalance(rd_kafka_t* consumer, rd_kafka_resp_err_t error,
                  rd_kafka_topic_partition_list_t* partitions, void* opaque) {
  auto* member = static_cast<Member*>(opaque);
  if (error == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    const std::int64_t since = now_us();
    if (rd_kafka_committed(consumer, partitions, kAskMs) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      for (int i = 0; i < partitions->cnt; ++i) {
        partitions->elems[i].offset = RD_KAFKA_OFFSET_STORED;
      }
    }
    member->history.assigned(*partitions, since);
    rd_kafka_assign(consumer, partitions);
    return;
  }
  commit_and_wait(consumer, *member);
  member->history.revoked(*partitions);
  rd_kafka_assign(consumer, nullptr);
}

}  // namespace

// follow BOOTSTRAP TOPIC GROUP NAME [KEY=VALUE...]: a member of the group, from the start of the
// topic, until SIGTERM.
int follow(const Arguments& arguments) {
  if (arguments.size() < 4) die("follow BOOTSTRAP TOPIC GROUP NAME [KEY=VALUE...]");
  Settings settings = {{"group.id", arguments[2]},
                       {"auto.offset.reset", "earliest"},
                       {"enable.auto.commit", "false"},
                       {"check.crcs", "true"}};
  for (const auto& one : settings_from(arguments, 4)) settings.push_back(one);
  stop_on_signal();
  Member member{.history = History(arguments[3], "group:" + arguments[2])};
  Handle consumer =
      make_consumer(arguments[0], settings, {.rebalance = on_rebalance, .opaque = &member});
  member.commits.reset(rd_kafka_queue_new(consumer.get()));
  Partitions topics(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(topics.get(), arguments[1].c_str(), RD_KAFKA_PARTITION_UA);
  rd_kafka_subscribe(consumer.get(), topics.get());
  while (!is_stopped()) {
    Message message(rd_kafka_consumer_poll(consumer.get(), 50));
    if (message) member.history.polled(*message);
    rd_kafka_queue_poll_callback(member.commits.get(), 0);
    if (!message || now_us() - member.committed_at > kCommitEveryUs) {
      if (now_us() - member.committed_at > kCommitEveryUs) {
        commit(consumer.get(), member);
        member.committed_at = now_us();
      }
      member.history.flush();
    }
  }
  rd_kafka_consumer_close(consumer.get());
  rd_kafka_queue_poll_callback(member.commits.get(), 0);
  member.commits.reset();
  return 0;
}

// read BOOTSTRAP TOPIC NAME SEED JUMP_MS [KEY=VALUE...]: reads all partitions from their start and
// on, until SIGTERM. Each JUMP_MS (0: never) it goes back, in each partition to an offset that it
// has read already, drawn from the seed.
int read(const Arguments& arguments) {
  if (arguments.size() < 5) die("read BOOTSTRAP TOPIC NAME SEED JUMP_MS [KEY=VALUE...]");
  Settings settings = {{"group.id", arguments[2]},
                       {"enable.auto.commit", "false"},
                       {"auto.offset.reset", "error"},
                       {"check.crcs", "true"}};
  for (const auto& one : settings_from(arguments, 5)) settings.push_back(one);
  std::mt19937_64 random(std::stoull(arguments[3]));
  const std::int64_t jump_us = std::stoll(arguments[4]) * 1000;
  stop_on_signal();
  History history(arguments[2], "reader");
  Handle consumer = make_consumer(arguments[0], settings);
  Partitions assignment(rd_kafka_topic_partition_list_new(1));
  const int partitions = partition_count(consumer.get(), arguments[1]);
  std::vector<std::uint64_t> ends(static_cast<std::size_t>(partitions), 0);
  for (int i = 0; i < partitions; ++i) {
    rd_kafka_topic_partition_list_add(assignment.get(), arguments[1].c_str(), i);
  }
  std::int64_t jumped = 0;
  for (bool is_first = true; !is_stopped(); is_first = false) {
    if (is_first || (jump_us > 0 && now_us() - jumped > jump_us)) {
      for (int i = 0; i < partitions; ++i) {
        const std::uint64_t offset = random() % (ends[static_cast<std::size_t>(i)] + 1);
        assignment->elems[i].offset = static_cast<std::int64_t>(offset);
      }
      jumped = now_us();
      history.assigned(*assignment, jumped);
      rd_kafka_assign(consumer.get(), assignment.get());
    }
    Message message(rd_kafka_consumer_poll(consumer.get(), 50));
    if (!message) {
      history.flush();
      continue;
    }
    history.polled(*message);
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      std::uint64_t& end = ends[static_cast<std::size_t>(message->partition)];
      end = std::max(end, static_cast<std::uint64_t>(message->offset) + 1);
    }
  }
  return 0;
}

// dump BOOTSTRAP TOPIC NAME [PARTITION...]: every stored record, from the start to the end there
// was when it began. A partition that answers an error is left at it.
int dump(const Arguments& arguments) {
  if (arguments.size() < 3) die("dump BOOTSTRAP TOPIC NAME [PARTITION...]");
  History history(arguments[2], "final");
  Handle consumer = make_consumer(arguments[0], {{"group.id", "dump"},
                                                 {"enable.auto.commit", "false"},
                                                 {"auto.offset.reset", "error"},
                                                 {"check.crcs", "true"},
                                                 {"fetch.wait.max.ms", "50"}});
  std::map<int, std::int64_t> ends;
  Partitions assignment(rd_kafka_topic_partition_list_new(1));
  std::vector<int> wanted;
  for (std::size_t i = 3; i < arguments.size(); ++i) wanted.push_back(std::stoi(arguments[i]));
  if (wanted.empty()) {
    for (int i = 0; i < partition_count(consumer.get(), arguments[1]); ++i) wanted.push_back(i);
  }
  for (int partition : wanted) {
    auto [low, high] = watermarks(consumer.get(), arguments[1], partition);
    if (low == high) continue;
    ends[partition] = high;
    rd_kafka_topic_partition_list_add(assignment.get(), arguments[1].c_str(), partition)->offset =
        low;
  }
  history.assigned(*assignment, now_us());
  rd_kafka_assign(consumer.get(), assignment.get());
  int silent = 0;
  while (!ends.empty()) {
    Message message(rd_kafka_consumer_poll(consumer.get(), 1000));
    if (!message) {
      if (++silent > 20) die("records do not come");
      continue;
    }
    silent = 0;
    history.polled(*message);
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      if (message->partition >= 0) ends.erase(message->partition);
      continue;
    }
    auto end = ends.find(message->partition);
    if (end != ends.end() && message->offset + 1 >= end->second) ends.erase(end);
  }
  return 0;
}

}  // namespace weir::clients
