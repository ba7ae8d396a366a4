// Files as records: each line one record, keyed by the file's name. produce_files writes them,
// verify_files reads them with a group of three members and compares every byte, the order within
// each key, and that no offset is missing or comes twice.
#include "client.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace weir::clients {
namespace {

constexpr int kMembers = 3;
constexpr auto kPatience = std::chrono::seconds(60);

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) die("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The lines of a file without their ends; a last line without an end counts, an empty rest does
// not.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::vector<std::string> names_on_stdin() {
  std::vector<std::string> names;
  for (std::string name; std::getline(std::cin, name);) names.push_back(name);
  return names;
}

void count_delivery(rd_kafka_t* /*producer*/, const rd_kafka_message_t* message, void* /*opaque*/) {
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) die(rd_kafka_err2str(message->err));
}

// What one key still has to show, and where.
struct Expected {
  std::string text;
  std::vector<std::string_view> lines;
  std::size_t next = 0;
  int partition = -1;
};

// Judges every record; any member may call it.
class Judge {
 public:
  explicit Judge(const std::vector<std::string>& names) {
    keys_.reserve(names.size());
    for (const std::string& name : names) {
      Expected& one = keys_[name];
      one.text = read_file(name);
      one.lines = lines_of(one.text);
      left_ += one.lines.size();
    }
  }

  void see(const rd_kafka_message_t& message) {
    std::string key(static_cast<const char*>(message.key), message.key_len);
    std::string_view value(static_cast<const char*>(message.payload), message.len);
    std::string where = "partition " + std::to_string(message.partition) + ", offset " +
                        std::to_string(message.offset) + ", key " + key;
    std::scoped_lock lock(mutex_);
    std::int64_t& next = next_offset_[message.partition];
    if (message.offset != next) die(where + ": expected offset " + std::to_string(next));
    next++;
    auto found = keys_.find(key);
    if (found == keys_.end()) die(where + ": a key that was not sent");
    Expected& one = found->second;
    if (one.partition != -1 && one.partition != message.partition)
      die(where + ": key in two partitions");
    one.partition = message.partition;
    if (one.next == one.lines.size()) die(where + ": more records than were sent");
    if (message.payload == nullptr) die(where + ": null instead of a value");
    if (one.lines[one.next] != value) die(where + ": not line " + std::to_string(one.next + 1));
    one.next++;
    left_--;
  }

  [[nodiscard]] std::size_t left() const { return left_.load(); }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, Expected> keys_;
  std::unordered_map<int, std::int64_t> next_offset_;
  std::atomic<std::size_t> left_ = 0;
};

// One member of the group. Its partitions stay paused until all members together have all of them,
// so that the group is settled before the first record and no rebalance can repeat one.
class Member {
 public:
  Member(const std::string& bootstrap, const std::string& topic, const std::string& group) {
    consumer_ = make_consumer(bootstrap,
                              {{"group.id", group},
                               {"auto.offset.reset", "earliest"},
                               {"enable.auto.commit", "false"},
                               {"fetch.wait.max.ms", "100"}},
                              {.rebalance = on_rebalance, .opaque = this});
    Partitions topics(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(topics.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
    rd_kafka_subscribe(consumer_.get(), topics.get());
  }

  [[nodiscard]] int assigned() const { return assigned_.load(); }

  void resume() {
    rd_kafka_topic_partition_list_t* list = nullptr;
    rd_kafka_assignment(consumer_.get(), &list);
    Partitions partitions(list);
    rd_kafka_resume_partitions(consumer_.get(), list);
  }

  void poll(Judge& judge) {
    Message message(rd_kafka_consumer_poll(consumer_.get(), 100));
    if (!message) return;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      std::fprintf(stderr, "rdkafka_client: %s\n", rd_kafka_message_errstr(message.get()));
      return;
    }
    judge.see(*message);
  }

  // Commits what was read and leaves the group.
  void finish() {
    rd_kafka_resp_err_t error = rd_kafka_commit(consumer_.get(), nullptr, 0);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR && error != RD_KAFKA_RESP_ERR__NO_OFFSET) {
      die(std::string("commit: ") + rd_kafka_err2str(error));
    }
    rd_kafka_consumer_close(consumer_.get());
  }

 private:
  static void on_rebalance(rd_kafka_t* consumer, rd_kafka_resp_err_t error,
                           rd_kafka_topic_partition_list_t* partitions, void* opaque) {
    auto* self = static_cast<Member*>(opaque);
    if (error == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
      rd_kafka_assign(consumer, partitions);
      rd_kafka_pause_partitions(consumer, partitions);
      self->assigned_ = partitions->cnt;
    } else {
      rd_kafka_assign(consumer, nullptr);
      self->assigned_ = 0;
    }
  }

  Handle consumer_;
  std::atomic<int> assigned_ = 0;
};

}  // namespace

// produce-files BOOTSTRAP TOPIC [KEY=VALUE of librdkafka...] < file names
int produce_files(const Arguments& arguments) {
  if (arguments.size() < 2) die("produce-files BOOTSTRAP TOPIC [KEY=VALUE...] < names");
  Settings settings = {{"queue.buffering.max.messages", "1000000"}, {"linger.ms", "20"}};
  for (const auto& one : settings_from(arguments, 2)) settings.push_back(one);
  Handle producer = make_producer(arguments[0], settings, count_delivery, nullptr);
  std::size_t records = 0;
  for (const std::string& name : names_on_stdin()) {
    std::string text = read_file(name);
    for (std::string_view line : lines_of(text)) {
      if (line.data() == nullptr) line = "";
      produce(producer.get(), arguments[1].c_str(), RD_KAFKA_PARTITION_UA, name, line);
      records++;
    }
  }
  if (rd_kafka_flush(producer.get(), 120'000) != RD_KAFKA_RESP_ERR_NO_ERROR) die("flush timed out");
  std::printf("%zu records\n", records);
  return 0;
}

// verify-files BOOTSTRAP TOPIC GROUP < file names
int verify_files(const Arguments& arguments) {
  if (arguments.size() != 3) die("verify-files BOOTSTRAP TOPIC GROUP < names");
  Judge judge(names_on_stdin());
  const std::size_t total = judge.left();
  std::vector<std::unique_ptr<Member>> members;
  for (int i = 0; i < kMembers; ++i) {
    members.push_back(std::make_unique<Member>(arguments[0], arguments[1], arguments[2]));
  }
  Handle probe = make_consumer(arguments[0], {{"group.id", "unused"}});
  const int partitions = partition_count(probe.get(), arguments[1]);
  std::atomic<bool> settled = false;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (auto& member : members) {
    threads.emplace_back([&, resumed = false]() mutable {
      while (!stop) {
        if (settled && !resumed) {
          member->resume();
          resumed = true;
        }
        member->poll(judge);
      }
      member->finish();
    });
  }
  const auto started = std::chrono::steady_clock::now();
  std::size_t before = judge.left() + 1;
  auto moved = started;
  while (judge.left() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    int assigned = 0;
    bool everybody = true;
    for (auto& member : members) {
      assigned += member->assigned();
      everybody = everybody && member->assigned() > 0;
    }
    settled = settled || (everybody && assigned == partitions);
    const auto now = std::chrono::steady_clock::now();
    if (judge.left() != before) moved = now;
    before = judge.left();
    if (now - moved > kPatience) die(std::to_string(before) + " records do not come");
  }
  // Whatever comes now is one too many.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::int64_t stored = 0;
  for (int i = 0; i < partitions; ++i) {
    auto [low, high] = watermarks(probe.get(), arguments[1], i);
    stored += high - low;
  }
  if (stored != static_cast<std::int64_t>(total))
    die("the log holds " + std::to_string(stored) + " records");
  std::printf("%zu records\n", total);
  return 0;
}

}  // namespace weir::clients
