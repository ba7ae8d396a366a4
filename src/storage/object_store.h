// The object store: named, immutable byte sequences. One interface; the kinds (file, memory, later
// s3) and the decorators (retrying, metered) pass one contract suite
// (storage/object_store_contract.h).
//
// Thread-safe; a call resumes on the caller's executor. A put is atomic: an object is seen whole or
// not at all, and when put answers success the object survives a crash of the process and of the
// machine. A put that answers an error may have taken effect all the same, or take effect later,
// whatever the code: it may tell why a second attempt failed, or a look at the outcome. Only
// kConflict says that another's object stands there. A removed object may come back when the
// machine crashes. Errors: kNotFound, kConflict (if_absent), kInvalid (a bad key or range),
// kUnavailable, kThrottled, kTimeout (outcome unknown), kExhausted (no space), kCorrupt.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "base/units.h"
#include "runtime/task.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::storage {

// '/'-separated parts of [A-Za-z0-9._=-], at most 512 bytes and 255 a part, no empty part, no "."
// or "..". A key is never the folder of another: where "a/b" is stored, "a" is kInvalid, and the
// other way round. S3, which knows no folders, does not notice.
using ObjectKey = std::string;

struct ByteRange {
  std::uint64_t from = 0;
  std::uint64_t count = 0;
};

struct ObjectInfo {
  ObjectKey key;
  ByteCount size = 0;
  TimestampMs modified_ms = 0;
};

struct ListPage {
  std::vector<ObjectInfo> objects;  // in byte order of their keys
  bool more = false;                // ask again, starting after the last key
};

struct PutOptions {
  // Fail with kConflict when the key exists (S3: If-None-Match: *).
  bool if_absent = false;
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  virtual Task<Status> put(ObjectKey key, Chain body, PutOptions options = {}) = 0;
  // The whole object.
  virtual Task<Result<Slice>> get(ObjectKey key) = 0;
  // Exactly range.count bytes; a range beyond the end is kInvalid.
  virtual Task<Result<Slice>> get_range(ObjectKey key, ByteRange range) = 0;
  virtual Task<Result<ObjectInfo>> head(ObjectKey key) = 0;
  // Deletes what exists; keys that do not exist count as deleted.
  virtual Task<Status> remove(std::vector<ObjectKey> keys) = 0;
  // Objects whose key starts with `prefix` (any text of a key's characters, it may end within a
  // part) and is greater than `after`, at most `limit` (1 to kMaxListLimit).
  virtual Task<Result<ListPage>> list(std::string prefix, std::string after, std::size_t limit) = 0;
};

constexpr std::size_t kMaxListLimit = 1000;

}  // namespace weir::storage
