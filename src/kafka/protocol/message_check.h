// For tests and fuzz targets: every generated message as a row of functions that fill it with
// values, encode it, decode it and show it, so that one test goes through all messages and
// versions. The rows and the fill functions are generated (weir_schema(... CHECKS target));
// message_checks() of the schema's namespace lists them. Not part of the broker.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "base/uuid.h"
#include "kafka/protocol/message.h"
#include "runtime/rng.h"

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::kafka {

// The source of values for the fields of a message. Keep it as long as the message: views refer to
// its memory.
class Filler {
 public:
  enum class Kind : std::uint8_t {
    kEmpty,   // zeros, empty texts and arrays, null where possible
    kFull,    // nothing null, two elements in every array, all values different
    kRandom,  // drawn from the seed, with the limits of each type among them
  };
  Filler(Kind kind, std::uint64_t seed) : kind_(kind), rng_(seed) {}

  bool flag();
  bool null();
  std::size_t count();
  // An integer of 8, 16, 32 or 64 bits, sign-extended.
  std::int64_t integer(int bits);
  double real();
  Uuid uuid();
  std::string_view view();
  std::string text() { return std::string(view()); }
  Bytes bytes() { return as_bytes(view()); }
  std::vector<std::byte> copy();
  Slice slice() { return Slice::copy_of(view()); }
  // Two slices where it is not empty.
  Chain chain();

 private:
  Kind kind_;
  Rng rng_;
  std::int64_t next_ = 0;
  std::deque<std::string> texts_;
};

struct CheckedMessage {
  Slice bytes;
  std::size_t size = 0;  // as encoded_size() says
  std::string json;
};

struct MessageCheck {
  std::string_view name;
  std::int16_t min_version;
  std::int16_t max_version;
  std::int16_t flexible_from;
  Result<CheckedMessage> (*make)(Filler& filler, std::int16_t version);
  Result<CheckedMessage> (*recode)(const Slice& input, std::int16_t version);
};

template <typename M>
Result<CheckedMessage> check_message(const M& message, std::int16_t version) {
  WEIR_TRY(Chain encoded, encode(message, version));
  return CheckedMessage{encoded.flatten(), encoded_size(message, version),
                        to_json(message, version)};
}

template <typename M>
Result<CheckedMessage> make_message(Filler& filler, std::int16_t version) {
  M message;
  fill(filler, version, message);
  return check_message(message, version);
}

template <typename M>
Result<CheckedMessage> recode_message(const Slice& input, std::int16_t version) {
  WEIR_TRY(M message, decode<M>(input, version));
  return check_message(message, version);
}

template <typename M>
constexpr MessageCheck message_check() {
  return {M::kName,         M::kMinVersion,  M::kMaxVersion,
          M::kFlexibleFrom, make_message<M>, recode_message<M>};
}

// The rows of Kafka's own messages.
std::span<const MessageCheck> message_checks();

// What is wrong with a message in one version, empty where nothing is: values of every kind are
// encoded, decoded, encoded again and compared, and no part of an encoded message may decode. For
// any message_checks().
[[nodiscard]] std::string find_fault(const MessageCheck& check, std::int16_t version);

}  // namespace weir::kafka
