#include "main/bucket_check.h"

#include "fetch/batch_assembly.h"
#include "main/object_access.h"
#include "storage/wal_object.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {
namespace {

constexpr std::string_view kFolder = "data/";
// Objects that are read at a time.
constexpr std::size_t kReaders = 8;

storage::ObjectKey key_of(const metadata::ObjectId& id) {
  return storage::wal_object_key(id.epoch, id.sequence);
}

std::uint64_t end_of(const metadata::Extent& extent) {
  return std::uint64_t{extent.byte_offset} + extent.byte_length;
}

Status check_extent_in(const Slice& object, const metadata::Extent& extent) {
  if (end_of(extent) > object.size())
    return fail(ErrorCode::kCorrupt, fmt::format("it ends before byte {}", end_of(extent)));
  return fetch::check_extent(extent, Chain(object.sub(extent.byte_offset, extent.byte_length)));
}

// The object explains itself: who wrote it, and what is in it. Brokers read by what the log says,
// and can do without.
Status check_whole(const Uuid& cluster, const storage::ObjectKey& key, const Slice& object) {
  WEIR_CHECK(check_writer(cluster, key, object.bytes()));
  WEIR_TRY(const storage::WalContents contents, storage::parse_wal_object(object.bytes()));
  for (const storage::WalRun& run : contents.index.runs) {
    WEIR_CHECK(
        storage::check_wal_run(object.bytes().subspan(run.byte_offset, run.byte_length), run));
  }
  return {};
}

}  // namespace

Task<Result<BucketCounts>> BucketCheck::run() {
  ExpectedObjects expected;
  {
    WEIR_CO_TRY(const metadata::State before, co_await current_());
    expected = expected_objects(before);
  }
  WEIR_CO_CHECK(co_await list_objects());
  WEIR_CO_CHECK(check_store(expected));
  co_await look_at_all(expected);
  WEIR_CO_TRY(const metadata::State after, co_await current_());
  const ExpectedObjects settled = expected_objects(after);
  judge(settled);
  count(expected, settled);
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

// Another bucket, or a prefix with a mistake, would be told object by object.
Status BucketCheck::check_store(const ExpectedObjects& expected) const {
  std::size_t needed = 0;
  for (const auto& [id, object] : expected.objects) {
    if (object.extents.empty()) continue;
    if (stored_.contains(id)) return {};
    ++needed;
  }
  if (needed == 0) return {};
  return fail(ErrorCode::kConflict,
              fmt::format("of {} objects that the metadata refers to the store has none: is it the "
                          "one of the broker's object.store.url?",
                          needed));
}

Task<void> BucketCheck::look_at_all(const ExpectedObjects& expected) {
  std::vector<metadata::ObjectId> left;
  for (const auto& [id, object] : expected.objects) {
    if (!object.extents.empty() || object.counted > 0) left.push_back(id);
  }
  std::ranges::reverse(left);  // they are taken from the end
  TaskGroup readers;
  for (std::size_t i = 0; i < kReaders; ++i) readers.spawn(executor_, take_turns(expected, left));
  co_await readers.join();
}

Task<void> BucketCheck::take_turns(const ExpectedObjects& expected,
                                   std::vector<metadata::ObjectId>& left) {
  while (!left.empty()) {
    const metadata::ObjectId id = left.back();
    left.pop_back();
    Damage damage = co_await look_at(expected, id);
    if (!damage.what.empty()) damages_[id] = std::move(damage);
  }
}

Task<BucketCheck::Damage> BucketCheck::look_at(const ExpectedObjects& expected,
                                               metadata::ObjectId id) {
  const ExpectedObject& object = expected.objects.at(id);
  if (object.counted != object.extents.size()) {
    co_return Damage{.what = fmt::format("the metadata counts {} extents in it, and has {}",
                                         object.counted, object.extents.size())};
  }
  const auto stored = stored_.find(id);
  if (stored == stored_.end()) co_return Damage{.what = "is missing", .lost = object.extents};
  if (!reads_objects_) {
    if (stored->second == object.size) co_return Damage();
    Damage damage{.what =
                      fmt::format("has {} bytes, and should have {}", stored->second, object.size)};
    for (const PlacedExtent& placed : object.extents) {
      if (end_of(placed.extent) > stored->second) damage.lost.push_back(placed);
    }
    co_return damage;
  }
  auto bytes = co_await store_.get(key_of(id));
  if (bytes) co_return damage_in(expected, id, *bytes);
  const Error& error = bytes.error();
  if (error.code == ErrorCode::kNotFound)
    co_return Damage{.what = "is missing", .lost = object.extents};
  const bool is_corrupt = error.code == ErrorCode::kCorrupt;
  co_return Damage{.what = is_corrupt ? error.message : "could not be read: " + error.to_string(),
                   .lost = is_corrupt ? object.extents : std::vector<PlacedExtent>(),
                   .is_unreadable = !is_corrupt};
}

BucketCheck::Damage BucketCheck::damage_in(const ExpectedObjects& expected,
                                           const metadata::ObjectId& id, const Slice& bytes) {
  const ExpectedObject& object = expected.objects.at(id);
  Damage damage;
  if (const Status whole = check_whole(expected.cluster, key_of(id), bytes); !whole)
    damage.what = whole.error().message;
  if (bytes.size() != object.size)
    damage.what = fmt::format("has {} bytes, and should have {}", bytes.size(), object.size);
  for (const PlacedExtent& placed : object.extents) {
    const Status extent = check_extent_in(bytes, placed.extent);
    if (extent) continue;
    damage.lost.push_back(placed);
    if (damage.what.empty()) damage.what = extent.error().message;
  }
  return damage;
}

void BucketCheck::judge(const ExpectedObjects& settled) {
  for (auto& [id, damage] : damages_) {
    const auto object = settled.objects.find(id);
    if (object == settled.objects.end()) continue;
    if (object->second.extents.empty() && object->second.counted == 0) continue;
    std::erase_if(damage.lost, [&](const PlacedExtent& placed) {
      return std::ranges::find(object->second.extents, placed) == object->second.extents.end();
    });
    ++(damage.is_unreadable ? counts_.unreadable : counts_.damaged);
    const std::string lost = damage.is_unreadable  ? ""
                             : damage.lost.empty() ? "; no records are lost"
                                                   : "; lost: " + settled.name_of(damage.lost);
    on_damage_(fmt::format("{}: {}{}", key_of(id), damage.what, lost));
  }
}

// What was listed and is gone since was named before.
void BucketCheck::count(const ExpectedObjects& before, const ExpectedObjects& settled) {
  for (const auto& [id, object] : settled.objects) {
    counts_.extents += object.extents.size();
    if (object.extents.empty()) {
      ++counts_.unneeded;
      continue;
    }
    ++counts_.objects;
    counts_.bytes += object.size;
  }
  for (const auto& [id, size] : stored_) {
    if (before.objects.contains(id) || settled.objects.contains(id)) continue;
    ++counts_.unnamed;
    counts_.unnamed_bytes += size;
  }
}

}  // namespace weir
