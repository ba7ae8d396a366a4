#include "main/metadata_command.h"

#include "main/urls.h"
#include "metadata/log/open_metadata_log.h"
#include "metadata/snapshot_load.h"
#include "metadata/snapshot_store.h"
#include "metadata/state/stat.h"
#include "metadata/state/state.h"
#include "metadata/store_claim.h"
#include "storage/open_object_store.h"

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>

namespace weir {
namespace {

constexpr ByteCount kReadBytes = 4_MiB;

struct MetadataOptions {
  std::string log_url;
  std::string store_url;
  std::optional<metadata::Position> after;
};

struct OpenedLog {
  std::unique_ptr<storage::ObjectStore> store;  // null: none was given
  std::unique_ptr<metadata::MetadataLog> log;
};

using OnEntry = std::function<Status(const metadata::LogEntry&)>;

// The position before the first entry that is still there.
Task<Result<metadata::Position>> trimmed_upto(metadata::MetadataLog& log) {
  WEIR_CO_TRY(metadata::SnapshotRef latest, co_await log.latest_snapshot());
  metadata::Position gone = -1;
  metadata::Position kept = latest.position;  // the log is never trimmed beyond it
  while (gone + 1 < kept) {
    metadata::Position middle = gone + (kept - gone) / 2;
    auto read = co_await log.read(middle, 1);
    if (!read && read.error().code != ErrorCode::kNotFound) co_return std::unexpected(read.error());
    (read ? kept : gone) = middle;
  }
  co_return kept;
}

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

Task<Status> dump_entries(metadata::MetadataLog& log, std::optional<metadata::Position> after,
                          Output output) {
  if (!after) {
    WEIR_CO_TRY(after, co_await trimmed_upto(log));
  }
  co_return co_await for_each_entry(log, *after,
                                    [output](const metadata::LogEntry& entry) -> Status {
                                      WEIR_TRY(std::string line, metadata::record_to_json(entry));
                                      *output.out << line << '\n';
                                      return {};
                                    });
}

Task<Result<metadata::State>> load_snapshot(metadata::MetadataLog& log, storage::ObjectStore& store,
                                            Executor executor, Output output) {
  metadata::SnapshotStore snapshots(store, log);
  WEIR_CO_TRY(metadata::RestoredState restored,
              co_await metadata::restore_state(snapshots, log, executor));
  for (const Error& lost : restored.lost) {
    *output.err << fmt::format("a snapshot is lost ({}); used that of position {}\n",
                               lost.to_string(), restored.snapshot.ref.position);
  }
  co_return std::move(restored.state);
}

// The state at the end of the log, from a snapshot where the log does not go back to its beginning.
Task<Status> print_stat(OpenedLog& opened, Executor executor, Output output) {
  metadata::MetadataLog& log = *opened.log;
  WEIR_CO_TRY(metadata::Position trimmed, co_await trimmed_upto(log));
  metadata::State state;
  if (trimmed > 0) {
    if (!opened.store) {
      co_return fail(ErrorCode::kInvalid,
                     fmt::format("the log begins after position {}; what was before is in a "
                                 "snapshot in the object store: give it with --store, as in "
                                 "object.store.url",
                                 trimmed));
    }
    WEIR_CO_TRY(state, co_await load_snapshot(log, *opened.store, executor, output));
  }
  WEIR_CO_CHECK(co_await for_each_entry(log, state.position(),
                                        [&](const metadata::LogEntry& entry) -> Status {
                                          WEIR_CHECK(state.apply(entry, -1));
                                          return {};
                                        }));
  *output.out << metadata::to_json(metadata::stat_of(state)) << '\n';
  co_return Status{};
}

// To be read: the backend's promises on writing do not matter.
Result<OpenedLog> open_log(const MetadataOptions& options, Clock& clock, const Executor& blocking) {
  OpenedLog out;
  if (!options.store_url.empty()) {
    WEIR_TRY(out.store, storage::open_object_store(options.store_url, clock, blocking,
                                                   storage::StoreAccess::kReadOnly));
  }
  WEIR_TRY(out.log, metadata::open_metadata_log(options.log_url, clock,
                                                {.allow_unsafe = true,
                                                 .missing = metadata::MissingLog::kFail,
                                                 .store = out.store.get(),
                                                 .executor = blocking,
                                                 .store_url = options.store_url}));
  return out;
}

using Work = std::function<Task<Status>(OpenedLog&, Executor)>;

// What is printed of one cluster must not be read out of another's store.
Task<Status> check_and_work(const MetadataOptions& options, OpenedLog& opened, const Work& work,
                            Executor executor) {
  if (opened.store) {
    WEIR_CO_CHECK(co_await metadata::check_store(
        *opened.log, *opened.store,
        {.log = shown_url(options.log_url), .store = shown_url(options.store_url)}));
  }
  co_return co_await work(opened, std::move(executor));
}

ExitCode run(const MetadataOptions& options, Output output, const Work& work) {
  SystemClock clock;
  Status result;
  boost::asio::thread_pool blocking(1);
  auto opened = open_log(options, clock, blocking.get_executor());
  if (opened) {
    boost::asio::io_context loop;
    auto work_and_stop = [&]() -> Task<Status> {
      Status done = co_await check_and_work(options, *opened, work, loop.get_executor());
      co_await opened->log->stop();
      co_return done;
    };
    boost::asio::co_spawn(loop, work_and_stop(),
                          [&](const std::exception_ptr& error, Status ended) {
                            if (error) std::rethrow_exception(error);
                            result = std::move(ended);
                          });
    loop.run();
  } else {
    result = std::unexpected(opened.error());
  }
  if (result) return ExitCode::kSuccess;
  *output.err << result.error().to_string() << '\n';
  return ExitCode::kFailure;
}

ExitCode dump(const MetadataOptions& options, Output output) {
  return run(options, output, [&](OpenedLog& opened, const Executor&) {
    return dump_entries(*opened.log, options.after, output);
  });
}

ExitCode stat(const MetadataOptions& options, Output output) {
  return run(options, output, [&](OpenedLog& opened, const Executor& executor) {
    return print_stat(opened, executor, output);
  });
}

CLI::App* add_verb(CLI::App& app, const std::string& name, const std::string& help,
                   const std::shared_ptr<MetadataOptions>& options) {
  CLI::App* command = app.add_subcommand(name, help);
  command->add_option("--log", options->log_url, "The metadata log, as in metadata.log.url")
      ->required()
      ->type_name("URL");
  command
      ->add_option("--store", options->store_url,
                   "The object store, as in object.store.url: for a log that was trimmed, or lies "
                   "in it (object:)")
      ->type_name("URL");
  return command;
}

}  // namespace

void add_metadata_command(CLI::App& app, Output output, ExitCode& result) {
  CLI::App* command = app.add_subcommand("metadata", "Look into a metadata log");
  command->require_subcommand(1);
  auto options = std::make_shared<MetadataOptions>();
  CLI::App* counting =
      add_verb(*command, "stat", "Print what the state holds at the end of the log", options);
  counting->callback([options, output, &result] { result = stat(*options, output); });
  CLI::App* dumping =
      add_verb(*command, "dump", "Print the entries, a JSON document a line", options);
  dumping->add_option("--after", options->after,
                      "Begin behind this position; default: the first entry that is kept");
  dumping->callback([options, output, &result] { result = dump(*options, output); });
}

}  // namespace weir
