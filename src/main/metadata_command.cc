#include "main/metadata_command.h"

#include "metadata/log/open_metadata_log.h"
#include "metadata/state/published_state.h"
#include "metadata/state/state.h"

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <ostream>

namespace weir {
namespace {

constexpr ByteCount kReadBytes = 4_MiB;

struct MetadataOptions {
  std::string log_url;
  metadata::Position after = 0;
};

using OnEntry = std::function<Status(const metadata::LogEntry&)>;

// Every entry that stands in the log now, in order.
Task<Status> for_each_entry(metadata::MetadataLog& log, metadata::Position after,
                            OnEntry on_entry) {
  WEIR_CO_TRY(metadata::Position tail, co_await log.tail());
  while (after < tail) {
    WEIR_CO_TRY(auto entries, co_await log.read(after, kReadBytes));
    for (const metadata::LogEntry& entry : entries) {
      WEIR_CO_CHECK(on_entry(entry));
      after = entry.position;
    }
    if (entries.empty()) break;
  }
  co_return Status{};
}

Status walk(const MetadataOptions& options, SystemClock& clock, OnEntry on_entry) {
  WEIR_TRY(auto log, metadata::open_metadata_log(options.log_url, clock));
  boost::asio::io_context loop;
  Status result;
  boost::asio::co_spawn(loop, for_each_entry(*log, options.after, std::move(on_entry)),
                        [&](const std::exception_ptr& error, Status ended) {
                          if (error) std::rethrow_exception(error);
                          result = std::move(ended);
                        });
  loop.run();
  return result;
}

ExitCode report(const Status& status, Output output) {
  if (status) return ExitCode::kSuccess;
  *output.err << status.error().to_string() << '\n';
  return ExitCode::kFailure;
}

ExitCode dump(const MetadataOptions& options, Output output) {
  SystemClock clock;
  return report(walk(options, clock,
                     [output](const metadata::LogEntry& entry) -> Status {
                       WEIR_TRY(std::string line, metadata::record_to_json(entry));
                       *output.out << line << '\n';
                       return {};
                     }),
                output);
}

void print(metadata::State& state, std::uint64_t entries, ByteCount bytes, Output output) {
  metadata::PublishedState readers;
  state.publish_all(readers);
  auto image = readers.image();
  std::size_t partitions = 0;
  std::size_t extents = 0;
  ByteCount records = 0;
  image->topics_by_id.for_each([&](const TopicId&, const auto& topic) {
    for (std::int32_t i = 0; i < topic->partition_count(); ++i) {
      auto view = topic->partition(i)->view();
      ++partitions;
      extents += view.extents.size();
      records += view.live_bytes;
    }
  });
  *output.out << fmt::format(
      "cluster {}\nposition {}\nentries {} ({} bytes)\nstate hash {:016x}\nbrokers {}\ntopics "
      "{}\npartitions {}\n"
      "extents {} ({} bytes of records)\ngroups {}\n",
      image->cluster_id.to_string(), state.position(), entries, bytes, state.hash(),
      image->brokers.size(), image->topics_by_id.size(), partitions, extents, records,
      readers.group_ids().size());
}

ExitCode stat(const MetadataOptions& options, Output output) {
  SystemClock clock;
  metadata::State state;
  std::uint64_t entries = 0;
  ByteCount bytes = 0;
  Status walked = walk(options, clock, [&](const metadata::LogEntry& entry) -> Status {
    ++entries;
    bytes += entry.bytes.size();
    WEIR_CHECK(state.apply(entry, -1));
    return {};
  });
  if (walked) print(state, entries, bytes, output);
  return report(walked, output);
}

CLI::App* add_verb(CLI::App& app, const std::string& name, const std::string& help,
                   const std::shared_ptr<MetadataOptions>& options) {
  CLI::App* command = app.add_subcommand(name, help);
  command->add_option("--log", options->log_url, "The metadata log, as in metadata.log.url")
      ->required()
      ->type_name("URL");
  return command;
}

}  // namespace

void add_metadata_command(CLI::App& app, Output output, ExitCode& result) {
  CLI::App* command = app.add_subcommand("metadata", "Look into a metadata log");
  command->require_subcommand(1);
  auto options = std::make_shared<MetadataOptions>();
  add_verb(*command, "stat", "Print what the state holds at the end of the log", options)
      ->callback([options, output, &result] { result = stat(*options, output); });
  CLI::App* dumping =
      add_verb(*command, "dump", "Print the entries, a JSON document a line", options);
  dumping->add_option("--after", options->after, "Begin behind this position");
  dumping->callback([options, output, &result] { result = dump(*options, output); });
}

}  // namespace weir
