#include "config/reference.h"

#include "config/keys.h"
#include "config/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace weir::config {
namespace {

constexpr std::string_view kIntroduction = R"(# Configuration

This page is made from the table of keys by `weir config-reference`; it is not edited.

A broker takes its configuration from a file in the format of Java's properties (`weir broker --config FILE`), from
environment variables over it (`WEIR_` and the key in upper case with `_` for `.`: `WEIR_NUM_PARTITIONS`), and from
`--set key=value` over both. `weir broker --check-config` prints what counts in the end and where it comes from.

Names are Kafka's where Kafka has the thing. Every configuration of Apache Kafka 4.4 is known, so that a `server.properties`
can be brought along: one that means nothing here is accepted, checked and described, and the broker logs that it has no
effect. The same holds for what older releases and plugins had ({}). Any other key is an error.

Topics, groups and running brokers are configured with Kafka's own tools (`kafka-configs`). A broker's value is the first
of: set for this broker, set for all brokers, given at start, the default. A topic's is its own, or that of the broker key
named under "default from".
)";

std::string escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string default_cell(const ConfigKey& key) {
  switch (key.default_kind) {
    case DefaultKind::kNull:
      return "none";
    case DefaultKind::kRequired:
      return "required";
    case DefaultKind::kText:
      return key.default_text.empty() ? "empty" : fmt::format("`{}`", key.default_text);
  }
  return "";
}

std::string change_words(const ConfigKey& key) {
  switch (key.update) {
    case Update::kStatic:
      return "at start";
    case Update::kPerBroker:
      return "for each broker while it runs";
    case Update::kClusterWide:
      return "while brokers run";
  }
  return "";
}

std::string importance_word(Importance importance) {
  switch (importance) {
    case Importance::kHigh:
      return "high";
    case Importance::kMedium:
      return "medium";
    case Importance::kLow:
      return "low";
  }
  return "";
}

std::string sources_words(const ConfigKey& key) {
  std::string words;
  for (const DefaultSource& source : key.sources) {
    if (source.name == key.name) continue;
    words += fmt::format("{}`{}`", words.empty() ? "" : ", ", source.name);
    if (source.factor != 1) words += fmt::format(" × {}", source.factor);
  }
  return words;
}

void append_used(std::string& page, Scope scope, const ConfigKey& key) {
  page += fmt::format("\n#### {}\n\n{}", key.name, key.doc);
  if (!key.note.empty()) page += fmt::format(" {}", key.note);
  page += fmt::format("\n\n- {}, default {}", lower(to_string(key.type)), default_cell(key));
  if (!key.valid.text.empty()) page += fmt::format(", valid: `{}`", key.valid.text);
  page += fmt::format("; importance {}", importance_word(key.importance));
  if (scope == Scope::kBroker) page += fmt::format("; can be changed {}", change_words(key));
  page += '\n';
  if (const std::string from = sources_words(key); !from.empty()) {
    page += fmt::format("- default from {}\n", from);
  }
}

using Sections = std::map<std::string_view, std::vector<const ConfigKey*>>;

Sections sections_of(Scope scope, bool used) {
  Sections sections;
  for (const ConfigKey& key : keys(scope)) {
    if (key.used == used) sections[key.section].push_back(&key);
  }
  return sections;
}

void append_unused(std::string& page, const Sections& sections) {
  for (const auto& [section, section_keys] : sections) {
    page += fmt::format(
        "\n### {}: without effect\n\n| key | type | default | valid | what it is in "
        "Kafka | why it has no effect |\n|---|---|---|---|---|---|\n",
        section);
    for (const ConfigKey* key : section_keys) {
      page += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", key->name,
                          lower(to_string(key->type)), escape(default_cell(*key)),
                          escape(key->valid.text), escape(key->doc), escape(key->note));
    }
  }
}

void append_scope(std::string& page, Scope scope, std::string_view title, std::string_view words) {
  page += fmt::format("\n## {}\n\n{}\n", title, words);
  for (const auto& [section, section_keys] : sections_of(scope, true)) {
    page += fmt::format("\n### {}\n", section);
    for (const ConfigKey* key : section_keys) append_used(page, scope, *key);
  }
  append_unused(page, sections_of(scope, false));
}

}  // namespace

std::string config_reference() {
  std::string ignored;
  for (std::string_view name : detail::kTables.ignored) {
    ignored += fmt::format("{}`{}`", ignored.empty() ? "" : ", ", name);
  }
  std::string page = fmt::format(kIntroduction, ignored);
  append_scope(page, Scope::kBroker, "Brokers", "Given to a broker.");
  append_scope(page, Scope::kTopic, "Topics", "Given to a topic, when it is created or later.");
  append_scope(page, Scope::kGroup, "Groups", "Given to a group.");
  return page;
}

}  // namespace weir::config
