// Any text as a configuration file: parsed, merged and built, it gives a configuration or an error.
#include "config/broker_config.h"
#include "config/sources.h"

#include <cstdint>
#include <string_view>

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir::config;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Machine machine{.host_name = "box", .cores = 1};
  auto fixed = merge_sources({.file = FileText{"file", std::string(text)}});
  if (!fixed) return 0;
  const auto layers = make_layers(*std::move(fixed), machine);
  if (!layers) return 0;
  const auto config = make_broker_config(*layers, machine, {});
  if (config && config->listeners.empty()) __builtin_trap();
  return 0;
}
