#include "sim/snapshot_care.h"

#include "metadata/snapshot_load.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::sim {

Task<bool> SnapshotCare::can_replace_latest(const metadata::SnapshotRef& latest) {
  auto before = co_await snapshots_.before(latest);
  if (!before) co_return false;
  bool found = false;
  for (const metadata::SnapshotRef& ref : *before) {
    // One of its own position shares all parts with it.
    if (ref.position >= latest.position || !witness_.was_recorded(ref)) continue;
    if (!co_await snapshots_.load(ref) || !co_await log_.read(ref.position, 1)) co_return false;
    found = true;
  }
  co_return found;
}

Task<void> SnapshotCare::damage(const std::string& key) {
  auto whole = co_await store_.get(key);
  if (!whole || whole->empty()) co_return;
  if (rng_.below(3) == 0) {
    std::vector<storage::ObjectKey> keys{key};
    std::ignore = co_await store_.remove(std::move(keys));
    co_return;
  }
  std::vector<std::byte> bytes(whole->bytes().begin(), whole->bytes().end());
  bytes[rng_.below(bytes.size())] ^= std::byte{1};
  std::ignore = co_await store_.put(key, Chain(Slice::of(std::move(bytes))), {});
}

Task<void> SnapshotCare::damage_latest() {
  auto latest = co_await snapshots_.latest();
  if (!latest || !co_await can_replace_latest(latest->ref)) co_return;
  // The head is another in every snapshot.
  const auto& chunks = latest->manifest.chunks;
  const auto head = std::ranges::find(chunks, "head", &metadata::SnapshotChunk::name);
  if (head == chunks.end()) co_return;
  world_.note("snapshot damaged");
  world_.tell("", [&] { return fmt::format("{} is damaged", latest->ref.manifest_key); });
  damaged_.insert(latest->ref.manifest_key);
  co_await damage(rng_.below(2) == 0 ? latest->ref.manifest_key : metadata::chunk_key(*head));
}

Task<std::string> SnapshotCare::trouble() {
  auto latest = co_await log_.latest_snapshot();
  auto restored = co_await metadata::restore_state(snapshots_, log_, executor_);
  if (!restored) co_return restored.error().to_string();
  // Another may have been recorded meanwhile.
  const bool is_damaged = !latest || damaged_.contains(latest->manifest_key);
  if (restored->lost.empty() || is_damaged) co_return "";
  co_return restored->lost.front().to_string();
}

}  // namespace weir::sim
