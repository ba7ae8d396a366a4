// Any lines "<operation><key>=<value>" as what IncrementalAlterConfigs asks for; the first
// character says of what. What passes the checks gives a configuration, and can be set again as it
// is.
#include "base/fuzz.h"
#include "config/alter.h"
#include "config/group_config.h"
#include "config/sources.h"
#include "config/topic_config.h"

#include <ranges>
#include <string_view>
#include <vector>

namespace {

using namespace weir;
using namespace weir::config;
using fuzz::require;

const Machine kMachine{.host_name = "box", .cores = 1};

const BrokerLayers& layers() {
  static const BrokerLayers defaults = make_layers(merge_sources({}).value(), kMachine).value();
  return defaults;
}

std::vector<Alteration> parse(std::string_view text) {
  std::vector<Alteration> alterations;
  for (auto part : std::views::split(text, '\n')) {
    std::string_view line(part.begin(), part.end());
    if (line.empty()) continue;
    Alteration alteration{.op = static_cast<AlterOp>(line.front() - '0')};
    std::size_t mark = std::min(line.find('='), line.size());
    alteration.name = line.substr(1, mark - 1);
    if (mark < line.size()) alteration.value = line.substr(mark + 1);
    alterations.push_back(std::move(alteration));
  }
  return alterations;
}

void check(Scope scope, std::span<const Alteration> alterations) {
  auto settings = apply_alterations(scope, {}, alterations);
  if (!settings) {
    require(!settings.error().message.empty());
    return;
  }
  bool valid = false;
  if (scope == Scope::kTopic) {
    valid = validate_topic_configs(*settings, layers()).has_value();
    if (valid) require(make_topic_config(*settings, layers()).max_message_bytes >= 0);
  } else if (scope == Scope::kGroup) {
    valid = validate_group_configs(*settings, layers()).has_value();
  } else {
    valid =
        validate_dynamic_configs(DynamicTarget::kClusterDefault, *settings, layers(), kMachine, {})
            .has_value();
  }
  if (!valid) return;
  std::vector<Alteration> again;
  for (const auto& [name, value] : *settings)
    again.push_back({.name = name, .op = AlterOp::kSet, .value = value});
  require(apply_alterations(scope, {}, again).value() == *settings);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Scope scope = data[0] == 't' ? Scope::kTopic : data[0] == 'g' ? Scope::kGroup : Scope::kBroker;
  check(scope, parse(as_text(fuzz::input(data + 1, size - 1))));
  return 0;
}
