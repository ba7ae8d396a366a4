#include "base/uuid.h"

namespace weir {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kTextLength = 22;

std::array<std::uint8_t, 16> bytes_of(const Uuid& id) {
  std::array<std::uint8_t, 16> out{};
  for (std::size_t i = 0; i < 8; ++i) {
    out[i] = static_cast<std::uint8_t>(id.high >> (56 - 8 * i));
    out[8 + i] = static_cast<std::uint8_t>(id.low >> (56 - 8 * i));
  }
  return out;
}

}  // namespace

std::string Uuid::to_string() const {
  std::string out;
  std::uint32_t bits = 0;
  int pending = 0;
  for (std::uint8_t byte : bytes_of(*this)) {
    bits = (bits << 8) | byte;
    pending += 8;
    while (pending >= 6) {
      pending -= 6;
      out += kAlphabet[(bits >> pending) & 63];
    }
  }
  out += kAlphabet[(bits << (6 - pending)) & 63];
  return out;
}

std::string Uuid::to_hex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (std::uint8_t byte : bytes_of(*this)) {
    if (out.size() == 8 || out.size() == 13 || out.size() == 18 || out.size() == 23) out += '-';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != kTextLength) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  std::uint32_t bits = 0;
  int pending = 0;
  std::size_t n = 0;
  for (char c : text) {
    std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    pending += 6;
    if (pending >= 8 && n < bytes.size()) {
      pending -= 8;
      bytes[n++] = static_cast<std::uint8_t>(bits >> pending);
    }
  }
  if ((bits & 15) != 0) return std::nullopt;  // the last character carries only two bits
  Uuid id;
  for (std::size_t i = 0; i < 8; ++i) {
    id.high = (id.high << 8) | bytes[i];
    id.low = (id.low << 8) | bytes[8 + i];
  }
  return id;
}

Uuid Uuid::from_random(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kVersionMask = 0xF000;
  constexpr std::uint64_t kVersion4 = 0x4000;
  return {(a & ~kVersionMask) | kVersion4, (b & ~(3ULL << 62)) | (2ULL << 62)};
}

}  // namespace weir
