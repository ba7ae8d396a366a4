#include "config/listeners.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::config {
namespace {

const List kDefaultMap = {"SASL_SSL:SASL_SSL", "PLAINTEXT:PLAINTEXT", "SSL:SSL",
                          "SASL_PLAINTEXT:SASL_PLAINTEXT"};

// "NAME bind advertised" of each listener, or the error.
std::string parse(const List& listeners, const List& advertised = {},
                  const List& protocols = kDefaultMap, const List& controllers = {}) {
  const auto parsed = parse_listeners({.listeners = listeners,
                                       .advertised = advertised,
                                       .protocols = protocols,
                                       .controller_names = controllers,
                                       .host_name = "box.example"});
  if (!parsed) return parsed.error().message;
  std::string out;
  for (const Listener& l : *parsed) {
    out += fmt::format("{}{} {}:{} {}:{}", out.empty() ? "" : "; ", l.name, l.bind.host,
                       l.bind.port, l.advertised.host, l.advertised.port);
  }
  return out;
}

TEST(Listeners, TheDefaultIsAdvertisedByTheNameOfTheMachine) {
  EXPECT_EQ(parse({"PLAINTEXT://:9092"}), "PLAINTEXT :9092 box.example:9092");
  EXPECT_EQ(parse({"plaintext://0.0.0.0:9092"}), "PLAINTEXT 0.0.0.0:9092 box.example:9092");
  EXPECT_EQ(parse({"PLAINTEXT://[::]:0"}), "PLAINTEXT :::0 box.example:0");
  EXPECT_EQ(parse({"PLAINTEXT://127.0.0.1:19092"}), "PLAINTEXT 127.0.0.1:19092 127.0.0.1:19092");
}

TEST(Listeners, AdvertisedAddressesGoByName) {
  const List map = {"IN:PLAINTEXT", "OUT:PLAINTEXT"};
  EXPECT_EQ(
      parse({"IN://:9092", "OUT://:9093"}, {"out://kafka.example:443", "IN://10.0.0.1:9092"}, map),
      "IN :9092 10.0.0.1:9092; OUT :9093 kafka.example:443");
  EXPECT_EQ(parse({"IN://:9092", "OUT://:9093"}, {"OUT://kafka.example:443"}, map),
            "advertised.listeners: the listener IN is missing");
  EXPECT_EQ(parse({"IN://:9092"}, {"OUT://kafka.example:443"}, map),
            "advertised.listeners: no listener is named OUT");
}

TEST(Listeners, UnreachableAddressesAreNotAdvertised) {
  for (std::string_view bad : {"0.0.0.0", "[::]", ""}) {
    const std::string message =
        parse({"PLAINTEXT://:9092"}, {fmt::format("PLAINTEXT://{}:9092", bad)});
    EXPECT_TRUE(message.starts_with("advertised.listeners: PLAINTEXT: clients cannot connect to"))
        << message;
  }
}

TEST(Listeners, OnlyPlaintextIsServed) {
  EXPECT_EQ(parse({"SSL://:9093"}),
            "listeners: the listener SSL has the protocol SSL; only PLAINTEXT is served "
            "(listener.security.protocol.map)");
  EXPECT_EQ(parse({"INTERNAL://:9093"}),
            "listeners: the listener INTERNAL has no protocol; add INTERNAL:PLAINTEXT to "
            "listener.security.protocol.map");
  EXPECT_EQ(parse({"A://:1"}, {}, {"A"}),
            "listener.security.protocol.map: A must be NAME:PROTOCOL");
}

TEST(Listeners, ControllerListenersAreLeftOut) {
  EXPECT_EQ(parse({"PLAINTEXT://:9092", "CONTROLLER://:9093"},
                  {"CONTROLLER://c:9093", "PLAINTEXT://h:1"}, kDefaultMap, {"controller"}),
            "PLAINTEXT :9092 h:1");
  EXPECT_EQ(parse({"CONTROLLER://:9093"}, {}, kDefaultMap, {"CONTROLLER"}),
            "listeners: at least one is needed, for example PLAINTEXT://:9092");
}

TEST(Listeners, NamesAndPortsAreUnique) {
  const List map = {"A:PLAINTEXT", "B:PLAINTEXT"};
  EXPECT_EQ(parse({"A://:1", "a://:2"}, {}, map), "listeners: the name A is there twice");
  EXPECT_EQ(parse({"A://:1", "B://10.0.0.1:1"}, {}, map),
            "listeners: A and B have the same port 1");
  EXPECT_EQ(parse({"A://127.0.0.1:1", "B://[::1]:1"}, {}, map),
            "A 127.0.0.1:1 127.0.0.1:1; B ::1:1 ::1:1");
  EXPECT_EQ(parse({"A://127.0.0.1:0", "B://127.0.0.1:0"}, {}, map),
            "A 127.0.0.1:0 127.0.0.1:0; B 127.0.0.1:0 127.0.0.1:0");
}

TEST(Listeners, BadAddressesAreNamed) {
  EXPECT_EQ(parse({"9092"}), "listeners: 9092 must be NAME://host:port");
  EXPECT_EQ(parse({"://:9092"}), "listeners: ://:9092 must be NAME://host:port");
  EXPECT_EQ(parse({"PLAINTEXT://host"}), "listeners: PLAINTEXT://host: host: must be host:port");
  EXPECT_EQ(parse({"PLAINTEXT://host:x"}),
            "listeners: PLAINTEXT://host:x: the port x must be a number from 0 to 65535");
  EXPECT_EQ(parse({"PLAINTEXT://host:65536"}),
            "listeners: PLAINTEXT://host:65536: the port 65536 must be a number from 0 to 65535");
  EXPECT_EQ(
      parse({"PLAINTEXT://::1:9092"}),
      "listeners: PLAINTEXT://::1:9092: the host ::1 must be a name, an IPv4 address, or an IPv6 "
      "address in brackets");
  EXPECT_EQ(parse({"PLAINTEXT://a b:9092"}),
            "listeners: PLAINTEXT://a b:9092: the host a b is no name or address");
}

}  // namespace
}  // namespace weir::config
