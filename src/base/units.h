// Byte sizes and the project's plain quantities.
#pragma once
#include <chrono>
#include <cstdint>

namespace weir {

using ByteCount = std::uint64_t;

constexpr ByteCount operator""_KiB(unsigned long long n) { return n << 10; }
constexpr ByteCount operator""_MiB(unsigned long long n) { return n << 20; }
constexpr ByteCount operator""_GiB(unsigned long long n) { return n << 30; }

// A record's place in its partition; the first is 0.
using Offset = std::int64_t;
constexpr Offset kNoOffset = -1;

// Milliseconds since 1970-01-01 UTC, as Kafka's timestamps. -1: none.
using TimestampMs = std::int64_t;
constexpr TimestampMs kNoTimestamp = -1;

using Duration = std::chrono::nanoseconds;

}  // namespace weir
