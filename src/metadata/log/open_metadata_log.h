// Opens a metadata log by URL: sqlite:PATH, postgres://…, object: (in the object store) or memory:
// (volatile: for tests and --dev). Blocks: for the start of a process.
#pragma once
#include "metadata/log/metadata_log.h"
#include "metadata/log/missing_log.h"
#include "storage/object_store.h"

#include <memory>
#include <string_view>

namespace weir::metadata {

struct LogOptions {
  // Take a backend that may lose what it acknowledged (metadata.log.allow.unsafe).
  bool allow_unsafe = false;
  MissingLog missing = MissingLog::kCreate;
  // For object:, with its name in messages, and the executor it works on: see ObjectLog.
  storage::ObjectStore* store = nullptr;
  Executor executor;
  std::string store_url;
};

// Whether brokers compete for the log's next entry: it lies in the object store.
[[nodiscard]] bool is_log_in_store(std::string_view url);

// Whether open_metadata_log() understands the URL; nothing is opened.
[[nodiscard]] Status check_metadata_log_url(std::string_view url);

// The log keeps a reference to `clock`. kInvalid: a URL of another kind, or a backend that is of no
// use as it is.
[[nodiscard]] Result<std::unique_ptr<MetadataLog>> open_metadata_log(std::string_view url,
                                                                     Clock& clock,
                                                                     LogOptions options = {});

}  // namespace weir::metadata
