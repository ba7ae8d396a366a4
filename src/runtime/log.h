// Logging: events with fields, not sentences. One event is one line on stderr, as text or as JSON:
//   log::warn("object.put.failed", {{"key", key}, {"attempt", n}, {"error", error}});
//   2026-01-31T12:00:00.000Z WARN  object.put.failed key=data/1 attempt=2 error="timed out: no
//   answer"
//
// Thread-safe; the process has one log. A line of a level that is off costs one load and the
// building of its fields, so give views and numbers, and ask enabled() before anything dearer. Text
// is cut after kMaxLogText bytes. Event names are stable, lower case, dotted; field keys are
// identifiers and carry their unit last (took_ms); `ts`, `level` and `event` are taken.
#pragma once
#include "base/error.h"
#include "base/secret.h"
#include "base/uuid.h"
#include "runtime/clock.h"

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace weir::log {

enum class Level : std::uint8_t { kDebug, kInfo, kWarn, kError, kOff };
enum class Format : std::uint8_t { kText, kJson };

constexpr std::size_t kMaxLogText = 4096;

// A field of a line. It refers to what it is given, which must live until the call returns.
struct Field {
  using Value =
      std::variant<bool, std::int64_t, std::uint64_t, double, std::string_view, Uuid, const Error*>;

  Field(std::string_view k, bool v) : key(k), value(v) {}
  Field(std::string_view k, std::signed_integral auto v) : key(k), value(std::int64_t{v}) {}
  Field(std::string_view k, std::unsigned_integral auto v) : key(k), value(std::uint64_t{v}) {}
  Field(std::string_view k, double v) : key(k), value(v) {}
  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const std::string& v) : key(k), value(std::string_view(v)) {}
  Field(std::string_view k, const char* v) : key(k), value(std::string_view(v)) {}
  Field(std::string_view k, const Uuid& v) : key(k), value(v) {}
  Field(std::string_view k, const Error& v) : key(k), value(&v) {}
  Field(std::string_view k, const Secret&) : key(k), value(std::string_view(kHiddenSecret)) {}

  std::string_view key;
  Value value;
};

using Fields = std::initializer_list<Field>;

struct Options {
  Level level = Level::kInfo;
  Format format = Format::kText;
  // Where the time of a line comes from; it must outlive the log's use. Null: the clock of the
  // machine.
  Clock* clock = nullptr;
  // Takes each line without its line end, one call at a time. Empty: stderr.
  std::function<void(std::string_view line)> sink;
};

// Replaces the options. Before the first call they are the defaults.
void configure(Options options);

// "debug", "info", "warn", "error", "off"; "text", "json".
[[nodiscard]] std::optional<Level> parse_level(std::string_view name);
[[nodiscard]] std::optional<Format> parse_format(std::string_view name);

namespace detail {
extern std::atomic<Level> level;
}

[[nodiscard]] inline bool enabled(Level level) {
  return level >= detail::level.load(std::memory_order_relaxed);
}

// Writes the line whatever its level; use the functions below.
void write(Level level, std::string_view event, Fields fields);

inline void debug(std::string_view event, Fields fields = {}) {
  if (enabled(Level::kDebug)) write(Level::kDebug, event, fields);
}
inline void info(std::string_view event, Fields fields = {}) {
  if (enabled(Level::kInfo)) write(Level::kInfo, event, fields);
}
inline void warn(std::string_view event, Fields fields = {}) {
  if (enabled(Level::kWarn)) write(Level::kWarn, event, fields);
}
inline void error(std::string_view event, Fields fields = {}) {
  if (enabled(Level::kError)) write(Level::kError, event, fields);
}

// At most one line per interval from one place in the code; the next line tells how many were left
// out (dropped=N):
//   static log::RateLimit limit(std::chrono::seconds(10));
//   log::warn(limit, "batch.rejected", {{"reason", reason}});
class RateLimit {
 public:
  explicit constexpr RateLimit(Duration interval) : interval_ns_(interval.count()) {}

  // The lines left out since the last that was let through, or nothing: this one is left out.
  [[nodiscard]] std::optional<std::uint64_t> admit(MonoTime now);

 private:
  std::int64_t interval_ns_;
  std::atomic<std::int64_t> next_ns_{INT64_MIN};
  std::atomic<std::uint64_t> dropped_{0};
};

void write(RateLimit& limit, Level level, std::string_view event, Fields fields);

inline void info(RateLimit& limit, std::string_view event, Fields fields = {}) {
  if (enabled(Level::kInfo)) write(limit, Level::kInfo, event, fields);
}
inline void warn(RateLimit& limit, std::string_view event, Fields fields = {}) {
  if (enabled(Level::kWarn)) write(limit, Level::kWarn, event, fields);
}
inline void error(RateLimit& limit, std::string_view event, Fields fields = {}) {
  if (enabled(Level::kError)) write(limit, Level::kError, event, fields);
}

}  // namespace weir::log
