// The object store that forgets: `memory:`, for tests and development. Objects live as long as the
// store. Thread-safe; calls answer at once.
#pragma once
#include "runtime/clock.h"
#include "storage/object_store.h"

#include <map>
#include <mutex>

namespace weir::storage {

class MemoryStore final : public ObjectStore {
 public:
  // The clock gives ObjectInfo::modified_ms.
  explicit MemoryStore(Clock& clock) : clock_(clock) {}

  Task<Status> put(ObjectKey key, Chain body, PutOptions options) override;
  Task<Result<Slice>> get(ObjectKey key) override;
  Task<Result<Slice>> get_range(ObjectKey key, ByteRange range) override;
  Task<Result<ObjectInfo>> head(ObjectKey key) override;
  Task<Status> remove(std::vector<ObjectKey> keys) override;
  Task<Result<ListPage>> list(std::string prefix, std::string after, std::size_t limit) override;

  // Objects stored.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Object {
    Slice body;
    TimestampMs modified_ms = 0;
  };

  Result<Object> find(const ObjectKey& key) const;
  [[nodiscard]] bool is_folder_of(const ObjectKey& key) const;

  Clock& clock_;
  mutable std::mutex mutex_;
  std::map<ObjectKey, Object> objects_;
};

}  // namespace weir::storage
