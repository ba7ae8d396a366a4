// The object cache as the write path and the read path see it: each knows only an interface of its
// own.
#pragma once
#include "cache/object_cache.h"
#include "fetch/object_reader.h"
#include "produce/write_pipeline.h"

namespace weir {

// kCorrupt where the footer of a whole object is intact and names another cluster, epoch or
// sequence than belong to the key: somebody else wrote it there. A damaged footer is no reason not
// to read batches, which have checksums of their own.
[[nodiscard]] Status check_writer(const Uuid& cluster, const storage::ObjectKey& key, Bytes object);

class CachedObjects final : public fetch::ObjectReader, public produce::WrittenObjects {
 public:
  explicit CachedObjects(cache::ObjectCache& cache) : cache_(cache) {}

  Task<Result<Chain>> read(metadata::Extent extent) override;
  void forget(const metadata::Extent& extent) override;
  void on_object_written(const storage::ObjectKey& key, const Chain& bytes) override {
    cache_.insert(key, bytes);
  }

 private:
  cache::ObjectCache& cache_;
};

}  // namespace weir
