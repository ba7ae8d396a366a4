// A 128-bit identifier as Kafka has it: 16 bytes on the wire, URL-safe base64 without padding in
// text (22 characters).
#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

struct Uuid {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  auto operator<=>(const Uuid&) const = default;
  [[nodiscard]] bool is_zero() const { return high == 0 && low == 0; }
  [[nodiscard]] std::string to_string() const;
  // The hexadecimal form of RFC 9562: 8-4-4-4-12.
  [[nodiscard]] std::string to_hex() const;
  [[nodiscard]] static std::optional<Uuid> parse(std::string_view text);
  // A version 4 UUID from 128 random bits.
  [[nodiscard]] static Uuid from_random(std::uint64_t a, std::uint64_t b);
};

}  // namespace weir

template <>
struct std::hash<weir::Uuid> {
  std::size_t operator()(const weir::Uuid& id) const noexcept {
    return static_cast<std::size_t>(id.high ^ (id.low * 0x9E3779B97F4A7C15ULL));
  }
};
