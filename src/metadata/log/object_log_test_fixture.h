// What the tests of the log in the object store share.
#pragma once
#include "metadata/log/metadata_log_contract.h"
#include "metadata/log/object_log_format.h"
#include "metadata/log/object_log_thread.h"
#include "storage/faulty_store.h"
#include "storage/memory_store.h"

namespace weir::metadata {

class ObjectLogTest : public ::testing::Test {
 protected:
  template <typename T>
  T run(Task<T> task) {
    return run_task(loop, std::move(task));
  }
  std::shared_ptr<ObjectLog> open_log(storage::ObjectStore& store, Clock& clock) {
    return thread_.open(store, clock);
  }
  Result<Appended> append(MetadataLog& log, const std::string& entry, Position known = 0) {
    return run(log.append(Slice::copy_of(entry), known));
  }
  std::string stored(MetadataLog& log, Position after = 0) {
    std::string out;
    auto entries = run(log.read(after, 64_MiB));
    if (!entries) return entries.error().to_string();
    for (const LogEntry& entry : *entries) {
      out += std::to_string(entry.position) + ":" + std::string(as_text(entry.bytes.bytes())) + " ";
    }
    return out;
  }
  // The next PUT of an entry fails.
  void fail_next_put(ErrorCode code, bool takes_effect) {
    store_.set_plan([=, done = false](const storage::StoreCall& call) mutable {
      if (done || call.operation != storage::StoreOperation::kPut ||
          !call.key.starts_with("log/entries/")) {
        return storage::StoreFault{};
      }
      done = true;
      return storage::StoreFault{.error = Error{code, "planned"}, .takes_effect = takes_effect};
    });
  }

  SystemClock clock_;
  ObjectLogThread thread_;
  static inline boost::asio::io_context loop;
  storage::MemoryStore memory_{clock_};
  storage::FaultyStore store_{memory_, clock_};
};

}  // namespace weir::metadata
