#include "kafka/protocol/message_check.h"

#include <fmt/format.h>

#include <limits>

namespace weir::kafka {
namespace {

// The name of the step at which a round trip of `made` fails, or nothing.
std::string round_trip_fault(const MessageCheck& check, const CheckedMessage& made,
                             std::int16_t version) {
  if (made.size != made.bytes.size()) {
    return fmt::format("encoded_size() {} but {} bytes", made.size, made.bytes.size());
  }
  Result<CheckedMessage> again = check.recode(made.bytes, version);
  if (!again) return again.error().message;
  if (again->json != made.json) return fmt::format("{} became {}", made.json, again->json);
  if (as_text(again->bytes.bytes()) != as_text(made.bytes.bytes())) return "other bytes";
  return {};
}

std::string cut_fault(const MessageCheck& check, const Slice& bytes, std::int16_t version) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // A copy of its own, so that a sanitizer sees a read beyond it.
    if (check.recode(Slice::copy_of(bytes.sub(0, size).bytes()), version)) {
      return fmt::format("the first {} of {} bytes decode", size, bytes.size());
    }
  }
  std::string longer(as_text(bytes.bytes()));
  longer += '\0';
  if (check.recode(Slice::copy_of(longer), version)) return "a byte too many decodes";
  return {};
}

}  // namespace

bool Filler::flag() {
  return kind_ == Kind::kFull || (kind_ == Kind::kRandom && rng_.below(2) == 1);
}

bool Filler::null() {
  return kind_ == Kind::kEmpty || (kind_ == Kind::kRandom && rng_.below(3) == 0);
}

std::size_t Filler::count() {
  if (kind_ == Kind::kRandom) return rng_.below(4);
  return kind_ == Kind::kEmpty ? 0 : 2;
}

std::int64_t Filler::integer(int bits) {
  if (kind_ == Kind::kEmpty) return 0;
  if (kind_ == Kind::kFull) return (++next_) % std::numeric_limits<std::int8_t>::max();
  int shift = 64 - bits;
  std::uint64_t raw = rng_.next();
  switch (rng_.below(6)) {
    case 0:
      return std::numeric_limits<std::int64_t>::min() >> shift;
    case 1:
      return std::numeric_limits<std::int64_t>::max() >> shift;
    case 2:
      return -1;
    default:
      return static_cast<std::int64_t>(raw) >> shift;
  }
}

double Filler::real() { return kind_ == Kind::kEmpty ? 0 : static_cast<double>(integer(32)) / 4; }

Uuid Filler::uuid() {
  return {static_cast<std::uint64_t>(integer(64)), static_cast<std::uint64_t>(integer(64))};
}

std::string_view Filler::view() {
  switch (kind_) {
    case Kind::kEmpty:
      return {};
    case Kind::kFull:
      return texts_.emplace_back(fmt::format("text{}", ++next_));
    case Kind::kRandom:
      break;
  }
  // Lengths around 127, where a compact length grows by a byte.
  static constexpr std::size_t kLengths[] = {0, 1, 5, 126, 127, 128, 300};
  std::string text(kLengths[rng_.below(std::size(kLengths))], ' ');
  for (char& c : text) c = static_cast<char>(rng_.below(128));
  return texts_.emplace_back(std::move(text));
}

std::vector<std::byte> Filler::copy() {
  Bytes value = bytes();
  return {value.begin(), value.end()};
}

Chain Filler::chain() {
  Slice whole = slice();
  Chain result;
  result.append(whole.sub(0, whole.size() / 2));
  result.append(whole.sub(whole.size() / 2));
  return result;
}

std::string find_fault(const MessageCheck& check, std::int16_t version) {
  constexpr std::uint64_t kSeeds = 6;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Filler::Kind kind = seed == 0   ? Filler::Kind::kEmpty
                        : seed == 1 ? Filler::Kind::kFull
                                    : Filler::Kind::kRandom;
    Filler filler(kind, seed);
    Result<CheckedMessage> made = check.make(filler, version);
    std::string fault;
    if (!made) {
      fault = made.error().message;
    } else {
      fault = round_trip_fault(check, *made, version);
      if (fault.empty() && kind != Filler::Kind::kRandom)
        fault = cut_fault(check, made->bytes, version);
    }
    if (!fault.empty()) return fmt::format("{} v{}, seed {}: {}", check.name, version, seed, fault);
  }
  return {};
}

}  // namespace weir::kafka
