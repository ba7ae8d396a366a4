#include "broker/configs.h"

#include "config/sources.h"
#include "metadata/memory_coordinator.h"
#include "runtime/test_loop.h"

#include <gtest/gtest.h>

namespace weir::broker {
namespace {

constexpr TopicId kTopic{7, 7};
const config::Machine kMachine{.host_name = "box", .cores = 1};

class ConfigsTest : public testing::Test {
 protected:
  ConfigsTest() {
    coordinator_.apply(metadata::CreateTopics{.topics = {{.name = "t", .id = kTopic}}});
  }

  // A broker that was started with these keys.
  Configs& start(std::vector<std::string> set) {
    auto fixed =
        config::merge_sources({.file = {}, .environment = {}, .sets = std::move(set)}).value();
    auto layers = config::make_layers(std::move(fixed), kMachine).value();
    auto broker = config::make_broker_config(layers, kMachine, {}).value();
    configs_.emplace(layers, broker, kMachine, config::Permissions{}, coordinator_, 1);
    coordinator_.add_listener(*configs_);
    return *configs_;
  }
  bool stamps() {
    return configs_->of(0, coordinator_.image()->topic(kTopic))->stamps_log_append_time();
  }
  void set(metadata::ConfigResourceType type, std::string name, std::string key,
           std::string value) {
    coordinator_.apply(metadata::AlterConfigs{.type = type,
                                              .name = std::move(name),
                                              .replace = false,
                                              .sets = {{std::move(key), std::move(value)}},
                                              .deletes = {}});
  }

  ManualClock clock_;
  boost::asio::io_context context_;
  metadata::MemoryCoordinator coordinator_{clock_, context_.get_executor()};
  std::optional<Configs> configs_;
};

TEST_F(ConfigsTest, BatchesAreStampedAsTheBrokerWasStarted) {
  start({"log.message.timestamp.type=LogAppendTime"});
  EXPECT_TRUE(stamps());
  set(metadata::ConfigResourceType::kTopic, "t", "message.timestamp.type", "CreateTime");
  EXPECT_FALSE(stamps());
}

TEST_F(ConfigsTest, WhatIsSetForAllBrokersComesBeforeWhatTheyWereStartedWith) {
  start({"log.message.timestamp.type=LogAppendTime"});
  EXPECT_TRUE(stamps());
  set(metadata::ConfigResourceType::kBroker, "", "log.message.timestamp.type", "CreateTime");
  EXPECT_FALSE(stamps());
  set(metadata::ConfigResourceType::kTopic, "t", "message.timestamp.type", "LogAppendTime");
  EXPECT_TRUE(stamps());
}

TEST_F(ConfigsTest, BatchesKeepTheirTimesUnlessAnythingSaysOtherwise) {
  start({});
  EXPECT_FALSE(stamps());
}

}  // namespace
}  // namespace weir::broker
