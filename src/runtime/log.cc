#include "runtime/log.h"

#include "base/utf8.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <cmath>
#include <ctime>
#include <mutex>

namespace weir::log {

namespace detail {
constinit std::atomic<Level> level{Level::kInfo};
}

namespace {

// The log is never destroyed: threads may write while the process ends.
struct State {
  std::mutex mutex;  // guards everything below and the order of lines
  Options options;
  SystemClock machine_clock;
  spdlog::logger stderr_log{"weir", std::make_shared<spdlog::sinks::stderr_sink_st>()};

  State() {
    stderr_log.set_pattern("%v");
    stderr_log.set_level(spdlog::level::trace);
  }
  Clock& clock() { return options.clock != nullptr ? *options.clock : machine_clock; }
};

State& state() {
  static State& instance = *new State;
  return instance;
}

std::string_view name_of(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarn:
      return "warn";
    case Level::kError:
      return "error";
    case Level::kOff:
      return "off";
  }
  return "error";
}

// In quotes, with the escapes of JSON; bytes that are not UTF-8 become U+FFFD, so that a line is
// always valid.
void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text[0];
    if (length == 0) {
      out += kUtf8Replacement;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

bool needs_quotes(std::string_view text) {
  return text.empty() || std::ranges::any_of(text, [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte <= 0x20 || byte >= 0x7F || c == '"' || c == '\\' || c == '=';
         });
}

void append_text(std::string& out, std::string_view text, Format format) {
  text = text.substr(0, kMaxLogText);
  if (format == Format::kJson || needs_quotes(text)) {
    append_quoted(out, text);
  } else {
    out += text;
  }
}

void append_value(std::string& out, const Field::Value& value, Format format) {
  auto append = [&]<typename T>(const T& v) {
    if constexpr (std::is_same_v<T, std::string_view>) {
      append_text(out, v, format);
    } else if constexpr (std::is_same_v<T, Uuid>) {
      append_text(out, v.to_string(), format);
    } else if constexpr (std::is_same_v<T, const Error*>) {
      append_text(out, v->to_string(), format);
    } else if constexpr (std::is_same_v<T, double>) {
      // JSON has no NaN and no infinity.
      if (format == Format::kJson && !std::isfinite(v)) {
        append_quoted(out, fmt::to_string(v));
      } else {
        fmt::format_to(std::back_inserter(out), "{}", v);
      }
    } else {
      fmt::format_to(std::back_inserter(out), "{}", v);
    }
  };
  std::visit(append, value);
}

// 2026-01-31T12:00:00.000Z
std::string iso_time(TimestampMs ms) {
  const TimestampMs millis = ((ms % 1000) + 1000) % 1000;
  const std::time_t seconds = (ms - millis) / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, millis);
}

void append_field(std::string& line, const Field& field, Format format) {
  if (format == Format::kText) {
    line += ' ';
    line += field.key;
    line += '=';
  } else {
    line += ',';
    append_quoted(line, field.key);
    line += ':';
  }
  append_value(line, field.value, format);
}

std::string start_line(Level level, std::string_view event, TimestampMs now, Format format) {
  if (format == Format::kText) {
    std::string name(name_of(level));
    for (char& c : name) c = static_cast<char>(c - 'a' + 'A');
    return fmt::format("{} {:<5} {}", iso_time(now), name, event);
  }
  std::string line =
      fmt::format(R"({{"ts":"{}","level":"{}","event":)", iso_time(now), name_of(level));
  append_quoted(line, event);
  return line;
}

void write_line(Level level, std::string_view event, Fields fields, std::uint64_t dropped) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  const Format format = log.options.format;
  std::string line = start_line(level, event, log.clock().wall_ms(), format);
  for (const Field& field : fields) append_field(line, field, format);
  if (dropped > 0) append_field(line, {"dropped", dropped}, format);
  if (format == Format::kJson) line += '}';
  if (log.options.sink) {
    log.options.sink(line);
  } else {
    log.stderr_log.info(line);
  }
}

}  // namespace

void configure(Options options) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  log.options = std::move(options);
  detail::level.store(log.options.level, std::memory_order_relaxed);
}

std::optional<Level> parse_level(std::string_view name) {
  for (Level level : {Level::kDebug, Level::kInfo, Level::kWarn, Level::kError, Level::kOff}) {
    if (name_of(level) == name) return level;
  }
  return std::nullopt;
}

std::optional<Format> parse_format(std::string_view name) {
  if (name == "text") return Format::kText;
  if (name == "json") return Format::kJson;
  return std::nullopt;
}

void write(Level level, std::string_view event, Fields fields) {
  write_line(level, event, fields, 0);
}

void write(RateLimit& limit, Level level, std::string_view event, Fields fields) {
  MonoTime now;
  {
    State& log = state();
    const std::lock_guard lock(log.mutex);
    now = log.clock().now();
  }
  if (auto dropped = limit.admit(now)) write_line(level, event, fields, *dropped);
}

std::optional<std::uint64_t> RateLimit::admit(MonoTime now) {
  const std::int64_t now_ns = now.time_since_epoch().count();
  std::int64_t next = next_ns_.load(std::memory_order_relaxed);
  if (now_ns < next ||
      !next_ns_.compare_exchange_strong(next, now_ns + interval_ns_, std::memory_order_relaxed)) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  return dropped_.exchange(0, std::memory_order_relaxed);
}

}  // namespace weir::log
