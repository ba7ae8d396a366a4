#include "storage/wal_object.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <charconv>

namespace weir::storage {
namespace {

constexpr std::string_view kFolder = "data/";

// Room for any key.
using KeyText = std::array<char, 64>;

std::uint16_t spread(BrokerEpoch broker_epoch, std::int64_t folder) {
  KeyText text;
  const char* end = fmt::format_to(text.data(), "{}/{}", broker_epoch, folder);
  constexpr int kHighBits = 48;
  return static_cast<std::uint16_t>(
      XXH64(text.data(), static_cast<std::size_t>(end - text.data()), 0) >> kHighBits);
}

std::string_view write_key(KeyText& text, BrokerEpoch broker_epoch, std::int64_t sequence) {
  // Padded, so that the keys of a folder list in the order of their numbers.
  const char* end =
      fmt::format_to(text.data(), "{}{:04x}/{:010}/{:012}", kFolder,
                     spread(broker_epoch, sequence / kWalObjectsPerFolder), broker_epoch, sequence);
  return {text.data(), end};
}

// The decimal number at the start of `text`, which is cut off.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

ObjectKey wal_object_key(BrokerEpoch broker_epoch, std::int64_t sequence) {
  KeyText text;
  return ObjectKey(write_key(text, broker_epoch, sequence));
}

std::optional<WalObjectName> parse_wal_object_key(std::string_view key) {
  constexpr std::size_t kHashAndSlash = 5;
  if (!key.starts_with(kFolder) || key.size() < kFolder.size() + kHashAndSlash) return std::nullopt;
  std::string_view rest = key.substr(kFolder.size() + kHashAndSlash);
  auto broker_epoch = take_number(rest);
  if (!broker_epoch || !rest.starts_with('/')) return std::nullopt;
  rest.remove_prefix(1);
  auto sequence = take_number(rest);
  if (!sequence || *broker_epoch < 0 || *sequence < 0) return std::nullopt;
  KeyText text;
  if (write_key(text, *broker_epoch, *sequence) != key) return std::nullopt;
  return WalObjectName{*broker_epoch, *sequence};
}

}  // namespace weir::storage
