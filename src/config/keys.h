// The table of configuration keys: every topic, broker and group configuration of Apache Kafka 4.4,
// and Weir's own. It is written in schema/*.keys, from which the build generates it; the reference
// page, the checks of values and the answers of DescribeConfigs all come from it. Constant data,
// thread-safe.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

enum class Scope : std::uint8_t { kTopic, kBroker, kGroup };

// The numbers are those of ConfigType in DescribeConfigs.
enum class ValueType : std::int8_t {
  kBoolean = 1,
  kString = 2,
  kInt = 3,
  kShort = 4,
  kLong = 5,
  kDouble = 6,
  kList = 7,
  kClass = 8,
  kPassword = 9,
};

enum class Importance : std::uint8_t { kHigh, kMedium, kLow };
enum class DefaultKind : std::uint8_t { kText, kNull, kRequired };

// How a broker key may be changed while the broker runs.
enum class Update : std::uint8_t { kStatic, kPerBroker, kClusterWide };

// What a value must be beyond its type.
struct Valid {
  enum class Kind : std::uint8_t {
    kAny,
    kNonEmpty,
    kRange,
    kOneOf,  // of a list: every element
    kOneOfIgnoringCase,
    kGzipLevel,          // 1 to 9, or -1
    kThrottledReplicas,  // partition:broker pairs, or *
    kOffsetReset,        // earliest, latest, or by_duration: and an ISO 8601 duration
  };
  Kind kind = Kind::kAny;
  std::string_view text;  // for people; empty: anything of the type
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::span<const std::string_view> choices;
};

// A broker key that gives a value when the key itself is not set; a number is multiplied by
// `factor`.
struct DefaultSource {
  std::string_view name;
  std::int64_t factor = 1;
};

struct ConfigKey {
  std::string_view name;
  ValueType type = ValueType::kString;
  DefaultKind default_kind = DefaultKind::kText;
  std::string_view default_text;
  Valid valid;
  Importance importance = Importance::kMedium;
  Update update = Update::kStatic;
  bool used = false;      // has an effect in Weir
  bool internal = false;  // described only where it is set
  std::string_view section;
  std::string_view doc;
  std::string_view note;  // why it has no effect, or what differs from Kafka
  // In order; a broker key with sources names itself among them.
  std::span<const DefaultSource> sources;

  // Its value is never shown.
  [[nodiscard]] bool sensitive() const { return type == ValueType::kPassword; }
};

// In the order of their names.
[[nodiscard]] std::span<const ConfigKey> keys(Scope scope);

// Null when there is no such key.
[[nodiscard]] const ConfigKey* find_key(Scope scope, std::string_view name);

// Whether a broker's file may have this key although it is none: plugins, listeners, older Kafka
// releases.
[[nodiscard]] bool is_ignored_key(std::string_view name);

// A hint for a name that is no key: " (did you mean num.partitions?)", or for a topic's key among a
// broker's " (for all topics it is log.retention.ms)". Empty when no key is near.
[[nodiscard]] std::string suggestion(Scope scope, std::string_view name);

// "LONG", as Kafka names the types.
[[nodiscard]] std::string_view to_string(ValueType type);

namespace detail {
struct KeyTables {
  std::span<const ConfigKey> topic;
  std::span<const ConfigKey> broker;
  std::span<const ConfigKey> group;
  std::span<const std::string_view> ignored;
};
extern const KeyTables kTables;
}  // namespace detail

}  // namespace weir::config
