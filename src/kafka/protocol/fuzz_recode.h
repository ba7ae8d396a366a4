// For fuzz targets: what must hold for any bytes that decode.
#pragma once
#include "kafka/protocol/message_check.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

namespace weir::kafka {

// Decodes `input` as the named message ("Fetch request"); what decodes must survive another round
// trip.
inline void fuzz_recode(std::string_view name, std::int16_t version, const Slice& input) {
  static const auto* checks = [] {
    auto* map = new std::map<std::string_view, MessageCheck>;
    for (const MessageCheck& check : message_checks()) map->emplace(check.name, check);
    return map;
  }();
  const MessageCheck& check = checks->at(name);
  Result<CheckedMessage> first = check.recode(input, version);
  if (!first) return;
  Result<CheckedMessage> second = check.recode(first->bytes, version);
  bool same = second && first->size == first->bytes.size() && second->json == first->json &&
              as_text(second->bytes.bytes()) == as_text(first->bytes.bytes());
  if (same) return;
  fmt::print(stderr, "{} v{} changes in a round trip: {}\n", name, version, first->json);
  std::abort();
}

}  // namespace weir::kafka
