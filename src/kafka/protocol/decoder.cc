#include "kafka/protocol/decoder.h"

#include "base/utf8.h"

#include <fmt/format.h>

namespace weir::kafka {
namespace {

// As in Kafka, whatever a field's length could say: what is stored can be told in every version.
constexpr std::size_t kMaxText = 32'767;

constexpr const char* kLongText = "a string has more than 32767 bytes, written as UTF-8";
constexpr const char* kNullText = "null for a string that must not be null";

}  // namespace

std::string_view KeptTexts::keep(std::string text) {
  if (!texts_) texts_ = std::make_shared<std::deque<std::string>>();
  return texts_->emplace_back(std::move(text));
}

Decoder::Decoder(const Slice& input, std::size_t memory)
    : owner_(input.owner()), in_(input.bytes()), size_(input.size()), memory_left_(memory) {}

void Decoder::fail(const char* why, ErrorCode code) {
  if (why_ == nullptr) {
    why_ = why;
    code_ = code;
    why_at_ = base_ + in_.position();
  }
  in_.set_failed();
}

Status Decoder::finish(std::string_view name, std::int16_t version) {
  if (in_.ok() && in_.remaining() > 0) fail("bytes are left over");
  if (ok()) return {};
  if (why_ == nullptr) {
    return weir::fail(ErrorCode::kInvalid,
                      fmt::format("{} v{}: the {} bytes end within a field", name, version, size_));
  }
  return weir::fail(
      code_, fmt::format("{} v{}: at byte {} of {}: {}", name, version, why_at_, size_, why_));
}

std::optional<std::size_t> Decoder::length(bool flexible, bool short_length) {
  std::int64_t count = 0;
  if (flexible) {
    count = static_cast<std::int64_t>(in_.uvarint()) - 1;
  } else {
    count = short_length ? in_.i16() : in_.i32();
  }
  if (!in_.ok()) return 0;
  if (count == -1) return std::nullopt;
  if (count < 0) {
    fail("a length below -1");
    return 0;
  }
  return static_cast<std::size_t>(count);
}

std::optional<std::string_view> Decoder::raw_text(bool flexible) {
  std::optional<std::size_t> count = length(flexible, true);
  if (!count) return std::nullopt;
  if (*count > in_.remaining()) {
    fail("a string is longer than the bytes left");
    return std::string_view{};
  }
  return in_.text(*count);
}

std::string_view Decoder::replaced(std::string_view text) {
  std::string good = replace_ill_formed(text);
  if (good.size() > kMaxText) {
    fail(kLongText);
    return {};
  }
  const std::size_t memory = good.size() + sizeof(std::string);
  if (memory > memory_left_) {
    fail("texts that are not UTF-8 take far more memory than the message has bytes",
         ErrorCode::kExhausted);
    return {};
  }
  memory_left_ -= memory;
  return texts_.keep(std::move(good));
}

std::optional<std::string_view> Decoder::nullable_view(bool flexible) {
  std::optional<std::string_view> value = raw_text(flexible);
  if (!value) return value;
  if (value->size() > kMaxText) {
    fail(kLongText);
    return std::string_view{};
  }
  return is_utf8(*value) ? *value : replaced(*value);
}

std::string_view Decoder::view(bool flexible) {
  std::optional<std::string_view> value = nullable_view(flexible);
  if (!value) fail(kNullText);
  return value.value_or(std::string_view{});
}

std::string Decoder::text(bool flexible) {
  std::optional<std::string_view> value = raw_text(flexible);
  if (!value) fail(kNullText);
  return std::string(value.value_or(std::string_view{}));
}

std::optional<std::string> Decoder::nullable_text(bool flexible) {
  std::optional<std::string_view> value = raw_text(flexible);
  if (!value) return std::nullopt;
  return std::string(*value);
}

std::optional<Bytes> Decoder::nullable_bytes(bool flexible) {
  std::optional<std::size_t> count = length(flexible, false);
  if (!count) return std::nullopt;
  if (*count > in_.remaining()) {
    fail("bytes are longer than the bytes left");
    return Bytes{};
  }
  return in_.take(*count);
}

Bytes Decoder::bytes(bool flexible) {
  std::optional<Bytes> value = nullable_bytes(flexible);
  if (!value) fail("null for bytes that must not be null");
  return value.value_or(Bytes{});
}

std::optional<Slice> Decoder::nullable_slice(bool flexible) {
  std::optional<Bytes> value = nullable_bytes(flexible);
  if (!value) return std::nullopt;
  return Slice(owner_, *value);
}

std::optional<Chain> Decoder::nullable_chain(bool flexible) {
  std::optional<Bytes> value = nullable_bytes(flexible);
  if (!value) return std::nullopt;
  return Chain(Slice(owner_, *value));
}

std::vector<std::byte> Decoder::copy(bool flexible) {
  Bytes value = bytes(flexible);
  return {value.begin(), value.end()};
}

std::optional<std::vector<std::byte>> Decoder::nullable_copy(bool flexible) {
  std::optional<Bytes> value = nullable_bytes(flexible);
  if (!value) return std::nullopt;
  return std::vector<std::byte>(value->begin(), value->end());
}

std::optional<std::size_t> Decoder::nullable_array(bool flexible, std::size_t least,
                                                   std::size_t memory) {
  std::optional<std::size_t> count = length(flexible, false);
  if (!count) return std::nullopt;
  if (*count * least > in_.remaining()) {
    fail("an array has more elements than the bytes left can hold");
    return 0;
  }
  if (*count * memory > memory_left_) {
    fail("arrays take far more memory than the message has bytes", ErrorCode::kExhausted);
    return 0;
  }
  memory_left_ -= *count * memory;
  return count;
}

std::size_t Decoder::array(bool flexible, std::size_t least, std::size_t memory) {
  std::optional<std::size_t> count = nullable_array(flexible, least, memory);
  if (!count) fail("null for an array that must not be null");
  return count.value_or(0);
}

bool Decoder::present() {
  std::int8_t mark = in_.i8();
  if (in_.ok() && mark != 1 && mark != -1) fail("a struct's mark is neither 1 nor -1");
  return ok() && mark == 1;
}

void Decoder::skip_tags() {
  Tags tags(*this);
  while (tags.next()) tags.skip();
}

Tags::Tags(Decoder& in) : in_(in), outer_(Bytes{}), left_(in.in_.uvarint()) {}

bool Tags::next() {
  if (entered_) leave();
  if (!in_.ok() || left_ == 0) return false;
  --left_;
  std::uint32_t tag = in_.in_.uvarint();
  std::uint32_t size = in_.in_.uvarint();
  if (!in_.ok()) return false;
  if (!first_ && tag <= tag_) {
    in_.fail("tagged fields are not in ascending order");
    return false;
  }
  first_ = false;
  tag_ = tag;
  if (size > in_.in_.remaining()) {
    in_.fail("a tagged field is longer than the bytes left");
    return false;
  }
  outer_base_ = in_.base_;
  in_.base_ += in_.in_.position();
  Bytes field = in_.in_.take(size);
  outer_ = in_.in_;
  in_.in_ = ByteReader(field);
  entered_ = true;
  return true;
}

void Tags::skip() { in_.in_.skip(in_.in_.remaining()); }

void Tags::leave() {
  entered_ = false;
  if (!in_.ok()) {
    outer_.set_failed();
  } else if (in_.in_.remaining() > 0) {
    in_.fail("a tagged field is shorter than its size says");
    outer_.set_failed();
  }
  in_.in_ = outer_;
  in_.base_ = outer_base_;
}

}  // namespace weir::kafka
