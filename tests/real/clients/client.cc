#include "client.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace weir::clients {
namespace {

constexpr int kTimeoutMs = 30'000;

std::atomic<bool> g_stopped = false;

rd_kafka_conf_t* configure(const std::string& bootstrap, const Settings& settings) {
  std::array<char, 512> why{};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  auto set = [&](const std::string& key, const std::string& value) {
    if (rd_kafka_conf_set(conf, key.c_str(), value.c_str(), why.data(), why.size()) !=
        RD_KAFKA_CONF_OK) {
      die(key + "=" + value + ": " + why.data());
    }
  };
  set("bootstrap.servers", bootstrap);
  for (const auto& [key, value] : settings) set(key, value);
  return conf;
}

Handle make(rd_kafka_type_t type, rd_kafka_conf_t* conf) {
  std::array<char, 512> why{};
  rd_kafka_t* handle = rd_kafka_new(type, conf, why.data(), why.size());
  if (handle == nullptr) die(why.data());
  return Handle(handle);
}

}  // namespace

void die(const std::string& message) {
  std::fprintf(stderr, "rdkafka_client: %s\n", message.c_str());
  std::_Exit(1);
}

Settings settings_from(const Arguments& arguments, std::size_t first) {
  Settings settings;
  for (std::size_t i = first; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    if (equals == std::string::npos) die(arguments[i] + ": not KEY=VALUE");
    settings.emplace_back(arguments[i].substr(0, equals), arguments[i].substr(equals + 1));
  }
  return settings;
}

void stop_on_signal() {
  for (const int one : {SIGTERM, SIGINT}) std::signal(one, [](int) { g_stopped = true; });
}

bool is_stopped() { return g_stopped; }

Handle make_producer(const std::string& bootstrap, const Settings& settings, DeliveryReport report,
                     void* opaque) {
  rd_kafka_conf_t* conf = configure(bootstrap, settings);
  rd_kafka_conf_set_opaque(conf, opaque);
  rd_kafka_conf_set_dr_msg_cb(conf, report);
  return make(RD_KAFKA_PRODUCER, conf);
}

Handle make_consumer(const std::string& bootstrap, const Settings& settings,
                     const Callbacks& callbacks) {
  rd_kafka_conf_t* conf = configure(bootstrap, settings);
  rd_kafka_conf_set_opaque(conf, callbacks.opaque);
  if (callbacks.rebalance != nullptr) rd_kafka_conf_set_rebalance_cb(conf, callbacks.rebalance);
  if (callbacks.commit != nullptr) rd_kafka_conf_set_offset_commit_cb(conf, callbacks.commit);
  Handle handle = make(RD_KAFKA_CONSUMER, conf);
  rd_kafka_poll_set_consumer(handle.get());
  return handle;
}

void produce(rd_kafka_t* producer, const char* topic, std::int32_t partition, std::string_view key,
             std::string_view value, void* opaque) {
  while (true) {
    rd_kafka_resp_err_t error = rd_kafka_producev(
        producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
        RD_KAFKA_V_KEY(key.data(), key.size()),
        RD_KAFKA_V_VALUE(const_cast<char*>(value.data()), value.size()),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_OPAQUE(opaque), RD_KAFKA_V_END);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) break;
    if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) die(rd_kafka_err2str(error));
    rd_kafka_poll(producer, 10);
  }
  rd_kafka_poll(producer, 0);
}

int partition_count(rd_kafka_t* handle, const std::string& topic) {
  const rd_kafka_metadata_t* metadata = nullptr;
  rd_kafka_topic_t* one = rd_kafka_topic_new(handle, topic.c_str(), nullptr);
  rd_kafka_resp_err_t error = rd_kafka_metadata(handle, 0, one, &metadata, kTimeoutMs);
  rd_kafka_topic_destroy(one);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) die(rd_kafka_err2str(error));
  int count = metadata->topic_cnt == 1 ? metadata->topics[0].partition_cnt : 0;
  rd_kafka_metadata_destroy(metadata);
  return count;
}

std::pair<std::int64_t, std::int64_t> watermarks(rd_kafka_t* handle, const std::string& topic,
                                                 int partition) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  rd_kafka_resp_err_t error =
      rd_kafka_query_watermark_offsets(handle, topic.c_str(), partition, &low, &high, kTimeoutMs);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) die(rd_kafka_err2str(error));
  return {low, high};
}

}  // namespace weir::clients
