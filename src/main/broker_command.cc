#include "main/broker_command.h"

#include "base/secret.h"
#include "config/sources.h"
#include "main/run_broker.h"
#include "metadata/log/open_metadata_log.h"
#include "storage/open_object_store.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <ostream>

namespace weir {
namespace {

// "num.partitions=3  # --set".
std::string effective_line(const config::BrokerLayers& layers, const config::ConfigKey& key) {
  const auto text = config::effective_text(layers, key);
  std::string value;
  if (text) value = config::shown_text(key, *text).value_or(kHiddenSecret);
  const auto fixed = layers.fixed.values.find(key.name);
  const std::string_view origin =
      fixed == layers.fixed.values.end() ? "default" : std::string_view(fixed->second.origin);
  return fmt::format("{}={}  # {}\n", key.name, value, origin);
}

Status check_urls(const config::BrokerConfig& broker) {
  if (Status store = storage::check_object_store_url(broker.object_store_url); !store)
    return std::unexpected(store.error().in("object.store.url"));
  if (Status log = metadata::check_metadata_log_url(broker.metadata.log_url.reveal()); !log)
    return std::unexpected(log.error().in("metadata.log.url"));
  return {};
}

ExitCode run(const BrokerOptions& options, Output output) {
  auto loaded = load_config(options);
  if (loaded) return run_broker(std::move(*loaded), output);
  *output.err << loaded.error().message << '\n';
  return ExitCode::kFailure;
}

}  // namespace

Result<LoadedConfig> load_config(const BrokerOptions& options) {
  config::Sources sources{.environment = config::weir_environment(), .sets = options.sets};
  if (!options.config_file.empty()) {
    WEIR_TRY(sources.file, config::read_config_file(options.config_file));
  }
  LoadedConfig loaded{.machine = config::this_machine(),
                      .permissions = {.volatile_backends = options.dev}};
  WEIR_TRY(auto fixed, config::merge_sources(sources));
  WEIR_TRY(loaded.layers, config::make_layers(std::move(fixed), loaded.machine));
  WEIR_TRY(loaded.broker,
           config::make_broker_config(loaded.layers, loaded.machine, loaded.permissions));
  WEIR_CHECK(check_urls(loaded.broker));
  return loaded;
}

ExitCode check_config(const BrokerOptions& options, Output output) {
  const auto loaded = load_config(options);
  if (!loaded) {
    *output.err << loaded.error().message << '\n';
    return ExitCode::kFailure;
  }
  for (const auto* warnings : {&loaded->layers.fixed.warnings, &loaded->broker.warnings}) {
    for (const std::string& warning : *warnings) *output.err << "warning: " << warning << '\n';
  }
  for (const config::ConfigKey& key : config::keys(config::Scope::kBroker)) {
    if (key.used) *output.out << effective_line(loaded->layers, key);
  }
  return ExitCode::kSuccess;
}

void add_broker_command(CLI::App& app, Output output, ExitCode& result) {
  CLI::App* command = app.add_subcommand("broker", "Run a broker");
  auto options = std::make_shared<BrokerOptions>();
  command
      ->add_option("--config", options->config_file,
                   "Configuration in the format of Java's properties")
      ->type_name("FILE");
  command
      ->add_option("--set", options->sets,
                   "Set a configuration key; wins over the environment, and that over the file")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--dev", options->dev,
                    "Allow backends that lose everything when the broker ends");
  command->add_flag("--check-config", options->check_config,
                    "Print what the configuration is in the end, and where from, without running");
  command->callback([options, output, &result] {
    result = options->check_config ? check_config(*options, output) : run(*options, output);
  });
}

}  // namespace weir
