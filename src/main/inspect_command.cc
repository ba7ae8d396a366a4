#include "main/inspect_command.h"

#include "main/object_dump.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <ostream>

namespace weir {
namespace {

struct InspectOptions {
  std::string file;
  bool json = false;
};

ExitCode inspect(const InspectOptions& options, Output output) {
  std::ifstream stream(options.file, std::ios::binary);
  std::string bytes;
  std::error_code ignored;
  // A folder opens like a file, and throws when it is read.
  const bool is_folder = std::filesystem::is_directory(options.file, ignored);
  if (stream && !is_folder) bytes.assign(std::istreambuf_iterator<char>(stream), {});
  if (!stream || is_folder) {
    *output.err << fmt::format(
        "cannot read {}: give the file of an object, as it lies in the object store\n",
        options.file);
    return ExitCode::kFailure;
  }
  auto dump = dump_object(Slice::copy_of(bytes), options.file,
                          options.json ? storage::DumpFormat::kJson : storage::DumpFormat::kText);
  if (!dump) {
    *output.err << dump.error().in(options.file).to_string() << '\n';
    return ExitCode::kFailure;
  }
  *output.out << dump->text;
  return dump->is_intact ? ExitCode::kSuccess : ExitCode::kFailure;
}

}  // namespace

void add_inspect_command(CLI::App& app, Output output, ExitCode& result) {
  CLI::App* command = app.add_subcommand("inspect", "Print what an object holds, and check it");
  auto options = std::make_shared<InspectOptions>();
  command->add_option("object", options->file, "The file of an object")
      ->required()
      ->type_name("OBJECT");
  command->add_flag("--json", options->json, "As one JSON document");
  command->callback([options, output, &result] { result = inspect(*options, output); });
}

}  // namespace weir
