#include "main/bucket_check.h"

#include "fetch/batch_assembly.h"
#include "main/object_access.h"
#include "storage/wal_object.h"

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::string_view kFolder = "data/";
// Objects that are read at a time.
constexpr std::size_t kReaders = 8;

storage::ObjectKey key_of(const metadata::ObjectId& id) {
  return storage::wal_object_key(id.epoch, id.sequence);
}

Status check_extent(const metadata::Extent& extent, const Slice& object) {
  const std::uint64_t end = std::uint64_t{extent.byte_offset} + extent.byte_length;
  if (end > object.size())
    return fail(ErrorCode::kCorrupt, fmt::format("it ends before byte {}", end));
  fetch::ExtentBatches batches(extent, Chain(object.sub(extent.byte_offset, extent.byte_length)),
                               extent.base_offset);
  while (batches.next()) {
  }
  return batches.status();
}

// The object explains itself: who wrote it, and what is in it.
Status check_whole(const Uuid& cluster, const storage::ObjectKey& key, const Slice& object) {
  WEIR_CHECK(check_writer(cluster, key, object.bytes()));
  WEIR_TRY(const storage::WalContents contents, storage::parse_wal_object(object.bytes()));
  for (const storage::WalRun& run : contents.index.runs) {
    WEIR_CHECK(
        storage::check_wal_run(object.bytes().subspan(run.byte_offset, run.byte_length), run));
  }
  return {};
}

std::string damage_in(const ExpectedObjects& expected, const metadata::ObjectId& id,
                      const Slice& bytes) {
  Status whole = check_whole(expected.cluster, key_of(id), bytes);
  for (const PlacedExtent& placed : expected.objects.at(id).extents) {
    if (whole) whole = check_extent(placed.extent, bytes);
  }
  return whole ? "" : whole.error().message;
}

}  // namespace

Task<Result<BucketCounts>> BucketCheck::run() {
  WEIR_CO_TRY(const metadata::State before, co_await current_());
  const ExpectedObjects expected = expected_objects(before);
  WEIR_CO_CHECK(co_await list_objects());
  WEIR_CO_TRY(const Ids suspects, co_await find_suspects(expected));
  WEIR_CO_TRY(const metadata::State after, co_await current_());
  const ExpectedObjects settled = expected_objects(after);
  WEIR_CO_CHECK(co_await judge(suspects, settled));
  count(settled);
  co_return counts_;
}

Task<Status> BucketCheck::list_objects() {
  std::string after;
  for (bool more = true; more;) {
    WEIR_CO_TRY(const storage::ListPage page,
                co_await store_.list(std::string(kFolder), after, storage::kMaxListLimit));
    for (const storage::ObjectInfo& object : page.objects) {
      after = object.key;
      if (const auto name = storage::parse_wal_object_key(object.key))
        stored_[{.epoch = name->broker_epoch, .sequence = name->sequence}] = object.size;
    }
    more = page.more && !page.objects.empty();
  }
  co_return Status{};
}

Task<Result<BucketCheck::Ids>> BucketCheck::find_suspects(const ExpectedObjects& expected) {
  Ids left;
  for (const auto& [id, object] : expected.objects) {
    if (!object.extents.empty() || object.counted > 0) left.push_back(id);
  }
  std::ranges::reverse(left);  // they are taken from the end
  Ids suspects;
  TaskGroup readers;
  for (std::size_t i = 0; i < kReaders; ++i)
    readers.spawn(executor_, take_turns(expected, left, suspects));
  co_await readers.join();
  if (failed_) co_return std::unexpected(*failed_);
  std::ranges::sort(suspects);
  co_return suspects;
}

Task<void> BucketCheck::take_turns(const ExpectedObjects& expected, Ids& left, Ids& suspects) {
  while (!left.empty() && !failed_) {
    const metadata::ObjectId id = left.back();
    left.pop_back();
    auto damage = co_await look_at(expected, id);
    if (!damage) {
      failed_ = damage.error().in(key_of(id));
    } else if (!damage->empty()) {
      suspects.push_back(id);
    }
  }
}

Task<Result<std::string>> BucketCheck::look_at(const ExpectedObjects& expected,
                                               metadata::ObjectId id) {
  const ExpectedObject& object = expected.objects.at(id);
  if (object.counted != object.extents.size()) {
    co_return fmt::format("the state counts {} extents in it, and has {}", object.counted,
                          object.extents.size());
  }
  const auto stored = stored_.find(id);
  if (stored == stored_.end()) co_return "is missing";
  if (stored->second != object.size)
    co_return fmt::format("has {} bytes, and should have {}", stored->second, object.size);
  if (!reads_objects_) co_return "";
  auto bytes = co_await store_.get(key_of(id));
  if (bytes) co_return damage_in(expected, id, *bytes);
  if (bytes.error().code == ErrorCode::kNotFound) co_return "is missing";
  if (bytes.error().code == ErrorCode::kCorrupt) co_return bytes.error().message;
  co_return std::unexpected(bytes.error());
}

// With the state of now, and the store as it is now. What no extent lies in any more may be gone.
Task<Status> BucketCheck::judge(const Ids& suspects, const ExpectedObjects& expected) {
  for (const metadata::ObjectId& id : suspects) {
    const auto object = expected.objects.find(id);
    if (object == expected.objects.end() || object->second.extents.empty()) continue;
    auto info = co_await store_.head(key_of(id));
    if (!info && info.error().code != ErrorCode::kNotFound) co_return std::unexpected(info.error());
    stored_.erase(id);
    if (info) stored_[id] = info->size;
    WEIR_CO_TRY(const std::string damage, co_await look_at(expected, id));
    if (damage.empty()) continue;
    ++counts_.damaged;
    on_damage_(fmt::format("{}: {} ({})", key_of(id), damage, expected.records_of(id)));
  }
  co_return Status{};
}

void BucketCheck::count(const ExpectedObjects& expected) {
  for (const auto& [id, object] : expected.objects) {
    counts_.extents += object.extents.size();
    if (object.extents.empty()) {
      ++counts_.unneeded;
      continue;
    }
    ++counts_.objects;
    counts_.bytes += object.size;
  }
  for (const auto& [id, size] : stored_) {
    if (expected.objects.contains(id)) continue;
    ++counts_.orphans;
    counts_.orphan_bytes += size;
  }
}

}  // namespace weir
