// A producer that sends until it is stopped, for the tests that kill brokers and for the torture.
#include "history.h"

#include <csignal>
#include <thread>

namespace weir::clients {
namespace {

void report(rd_kafka_t* /*producer*/, const rd_kafka_message_t* message, void* opaque) {
  static_cast<History*>(opaque)->sent(*message);
}

}  // namespace

// load BOOTSTRAP TOPIC NAME PAUSE_US VALUE_BYTES [KEY=VALUE...]: sends NAME:PARTITION:COUNTER to
// every partition in turn until SIGTERM, then waits for what is under way. PAUSE_US is slept after
// each round of partitions; values are padded to VALUE_BYTES.
int load(const Arguments& arguments) {
  if (arguments.size() < 5) die("load BOOTSTRAP TOPIC NAME PAUSE_US VALUE_BYTES [KEY=VALUE...]");
  Settings settings = {{"message.timeout.ms", "60000"},
                       {"reconnect.backoff.ms", "20"},
                       {"reconnect.backoff.max.ms", "100"},
                       {"retry.backoff.ms", "20"},
                       {"message.send.max.retries", "1000000"}};
  std::string kind = "plain";
  for (const auto& [key, value] : settings_from(arguments, 5)) {
    if (key == "enable.idempotence" && value == "true") kind = "idempotent";
    settings.emplace_back(key, value);
  }
  stop_on_signal();
  History history(arguments[2], kind);
  Handle producer = make_producer(arguments[0], settings, report, &history);
  const int partitions = partition_count(producer.get(), arguments[1]);
  const auto pause = std::chrono::microseconds(std::stoll(arguments[3]));
  const std::size_t bytes = std::stoul(arguments[4]);
  for (std::uint64_t counter = 0; !is_stopped(); ++counter) {
    for (int partition = 0; partition < partitions; ++partition) {
      std::string value =
          arguments[2] + ":" + std::to_string(partition) + ":" + std::to_string(counter);
      if (value.size() < bytes) value.append(bytes - value.size(), '.');
      produce(producer.get(), arguments[1].c_str(), partition, "", value);
    }
    history.flush();
    std::this_thread::sleep_for(pause);
  }
  rd_kafka_resp_err_t error = rd_kafka_flush(producer.get(), 60'000);
  return error == RD_KAFKA_RESP_ERR_NO_ERROR ? 0 : 1;
}

}  // namespace weir::clients
