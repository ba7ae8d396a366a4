#include "history.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace weir::clients {
namespace {

constexpr std::int64_t kMostInALine = 500;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char one : text) {
    if (one >= ' ' && one < '\x7f' && one != '"' && one != '\\') {
      out += one;
    } else {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned char>(one));
      out += code;
    }
  }
  return out + '"';
}

}  // namespace

std::string name_of(const rd_kafka_message_t& message) {
  if (message.payload == nullptr) return "null";
  std::string_view value(static_cast<const char*>(message.payload), message.len);
  return std::string(value.substr(0, std::min(value.find('.'), std::size_t{100})));
}

std::int64_t now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

History::History(std::string process, const std::string& kind) : process_(std::move(process)) {
  begin("start");
  std::printf(R"("kind":%s})"
              "\n",
              quoted(kind).c_str());
}

void History::begin(const char* op) const {
  std::printf(R"({"t":%lld,"p":%s,"op":"%s",)", static_cast<long long>(now_us()),
              quoted(process_).c_str(), op);
}

void History::sent(const rd_kafka_message_t& message) {
  begin("send");
  std::printf(R"("took":%lld,"partition":%d,"value":%s,)",
              static_cast<long long>(rd_kafka_message_latency(&message)), message.partition,
              quoted(name_of(message)).c_str());
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    std::printf(R"("offset":%lld,"is":"ok"})"
                "\n",
                static_cast<long long>(message.offset));
    return;
  }
  // Only what never left the client, or was refused in so many words, is certainly not stored.
  const bool is_certain = rd_kafka_message_status(&message) == RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
  std::printf(R"("is":"%s","error":"%s"})"
              "\n",
              is_certain ? "fail" : "unknown", rd_kafka_err2name(message.err));
}

void History::polled(const rd_kafka_message_t& message) {
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    end_polls();
    begin("poll");
    std::printf(R"("partition":%d,"is":"fail","error":"%s"})"
                "\n",
                message.partition, rd_kafka_err2name(message.err));
    return;
  }
  const bool follows = !values_.empty() && message.partition == partition_ &&
                       message.offset == next_ && next_ - first_ < kMostInALine;
  if (!follows) {
    end_polls();
    partition_ = message.partition;
    first_ = message.offset;
  }
  if (!values_.empty()) values_ += ',';
  values_ += quoted(name_of(message));
  next_ = message.offset + 1;
}

void History::end_polls() {
  if (values_.empty()) return;
  begin("poll");
  std::printf(R"("partition":%d,"offset":%lld,"values":[%s],"is":"ok"})"
              "\n",
              partition_, static_cast<long long>(first_), values_.c_str());
  values_.clear();
}

void History::assigned(const rd_kafka_topic_partition_list_t& partitions, std::int64_t since) {
  end_polls();
  for (int i = 0; i < partitions.cnt; ++i) {
    const std::int64_t offset = partitions.elems[i].offset;
    begin("assign");
    std::printf(R"("took":%lld,"partition":%d,"offset":%lld,"is":"%s"})"
                "\n",
                static_cast<long long>(now_us() - since), partitions.elems[i].partition,
                static_cast<long long>(std::max<std::int64_t>(offset, -1)),
                offset == RD_KAFKA_OFFSET_STORED ? "unknown" : "ok");
  }
}

void History::revoked(const rd_kafka_topic_partition_list_t& partitions) {
  end_polls();
  for (int i = 0; i < partitions.cnt; ++i) {
    begin("revoke");
    std::printf(R"("partition":%d})"
                "\n",
                partitions.elems[i].partition);
  }
}

void History::committed(const rd_kafka_topic_partition_list_t& partitions,
                        rd_kafka_resp_err_t error, std::int64_t since) {
  end_polls();
  for (int i = 0; i < partitions.cnt; ++i) {
    const rd_kafka_topic_partition_t& one = partitions.elems[i];
    if (one.offset < 0) continue;
    const rd_kafka_resp_err_t why = error != RD_KAFKA_RESP_ERR_NO_ERROR ? error : one.err;
    begin("commit");
    std::printf(R"("took":%lld,"partition":%d,"offset":%lld,"is":"%s","error":"%s"})"
                "\n",
                static_cast<long long>(now_us() - since), one.partition,
                static_cast<long long>(one.offset),
                why == RD_KAFKA_RESP_ERR_NO_ERROR ? "ok" : "unknown", rd_kafka_err2name(why));
  }
}

void History::flush() {
  end_polls();
  std::fflush(stdout);
}

}  // namespace weir::clients
