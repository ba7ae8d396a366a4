#include "metadata/snapshot_store.h"

#include "base/planted.h"
#include "runtime/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace weir::metadata {
namespace {

// While one loads, others may record two more snapshots and prune it.
constexpr int kLoadAttempts = 3;
// Bytes may be damaged on their way, too: only what is wrong so many times is wrong in the store.
constexpr int kReads = 3;

using ChunksByName = std::unordered_map<std::string_view, const SnapshotChunk*>;

struct WriteJob {
  storage::ObjectStore& store;
  std::vector<ChunkSource>& sources;
  const ChunksByName& base;
  SnapshotManifest
      manifest;  // has the names of the sources; the rest is filled in as they are written
  std::size_t chunks_written = 0;
  ByteCount bytes_written = 0;

  [[nodiscard]] const SnapshotChunk* in_base(std::string_view name) const {
    const auto found = base.find(name);
    return found != base.end() ? found->second : nullptr;
  }
};

Task<Status> write_chunk(WriteJob& job, std::size_t index) {
  SnapshotChunk& chunk = job.manifest.chunks[index];
  const SnapshotChunk* before = job.in_base(chunk.name);
  if (!job.sources[index].make) {
    chunk = *before;
    co_return Status();
  }
  const Slice bytes = job.sources[index].make();
  chunk.size = bytes.size();
  chunk.digest = sha256(bytes.bytes());
  if (before != nullptr && before->digest == chunk.digest) {
    chunk.written_at = before->written_at;
    co_return Status();
  }
  chunk.written_at = job.manifest.position;
  ++job.chunks_written;
  job.bytes_written += bytes.size();
  co_return co_await job.store.put(chunk_key(chunk), Chain(bytes));
}

ChunksByName by_name(const SnapshotManifest& manifest) {
  ChunksByName out;
  for (const SnapshotChunk& chunk : manifest.chunks) out.emplace(chunk.name, &chunk);
  return out;
}

Status check_sources(const std::vector<ChunkSource>& sources, const ChunksByName& base) {
  std::unordered_set<std::string_view> names;
  for (const ChunkSource& source : sources) {
    WEIR_CHECK(check_chunk_name(source.name));
    if (!names.insert(source.name).second) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("snapshot chunk {} is given twice", source.name));
    }
    if (!source.make && !base.contains(source.name)) {
      return fail(
          ErrorCode::kInvalid,
          fmt::format("snapshot chunk {} is not in the base and has no bytes", source.name));
    }
  }
  return {};
}

std::unexpected<Error> superseded(Position position, const SnapshotRef& latest) {
  return fail(ErrorCode::kConflict,
              fmt::format("a snapshot of position {}, but the log has {} already", position,
                          latest.manifest_key));
}

// A snapshot may share chunks only while its base is there: see docs/formats/snapshot.md.
Task<Status> check_base(storage::ObjectStore& store, std::string base, std::string manifest) {
  auto found = co_await store.head(base);
  if (found) co_return Status();
  if (found.error().code != ErrorCode::kNotFound) co_return std::unexpected(found.error());
  std::vector<storage::ObjectKey> own{std::move(manifest)};
  (void)co_await store.remove(std::move(own));
  co_return fail(ErrorCode::kConflict, fmt::format("the base {} was pruned meanwhile", base));
}

// kInvalid says of a snapshot that a newer Weir wrote it, which is final: not what a store answers.
Task<Result<Slice>> get(storage::ObjectStore& store, std::string key) {
  auto bytes = co_await store.get(std::move(key));
  const bool is_invalid = !bytes && bytes.error().code == ErrorCode::kInvalid;
  if (is_invalid) bytes.error().code = ErrorCode::kUnavailable;
  co_return bytes;
}

Task<Result<SnapshotManifest>> read_manifest(storage::ObjectStore& store, std::string key) {
  for (int reads = 1;; ++reads) {
    WEIR_CO_TRY(const Slice bytes, co_await get(store, key));
    auto manifest = decode_manifest(bytes.bytes());
    if (manifest) co_return manifest;
    const bool damaged = manifest.error().code == ErrorCode::kCorrupt;
    if (!damaged || reads == kReads) co_return std::unexpected(manifest.error().in(key));
  }
}

Task<Status> load_chunk(storage::ObjectStore& store, const SnapshotChunk& chunk, Slice& out) {
  const std::string key = chunk_key(chunk);
  for (int reads = 0; reads < kReads; ++reads) {
    WEIR_CO_TRY(out, co_await get(store, key));
    if (out.size() == chunk.size && sha256(out.bytes()) == chunk.digest) co_return Status();
  }
  co_return fail(ErrorCode::kCorrupt,
                 fmt::format("snapshot chunk {} ({}) does not match its digest", key, chunk.name));
}

// All keys below kSnapshotPrefix that are of snapshots.
struct SnapshotKeys {
  std::map<storage::ObjectKey, Position> manifests;  // by position, as the keys begin with it
  std::vector<std::pair<storage::ObjectKey, Position>> chunks;
};

Task<Result<SnapshotKeys>> list_keys(storage::ObjectStore& store) {
  constexpr std::size_t kPage = 1000;
  SnapshotKeys out;
  std::string after;
  for (bool more = true; more;) {
    WEIR_CO_TRY(const storage::ListPage page,
                co_await store.list(std::string(kSnapshotPrefix), after, kPage));
    for (const storage::ObjectInfo& info : page.objects) {
      const auto key = parse_snapshot_key(info.key);
      if (key && key->is_manifest) out.manifests.emplace(info.key, key->position);
      if (key && !key->is_manifest) out.chunks.emplace_back(info.key, key->position);
    }
    more = page.more && !page.objects.empty();
    if (more) after = page.objects.back().key;
  }
  co_return out;
}

Task<Status> remove_all(storage::ObjectStore& store, const std::vector<storage::ObjectKey>& keys) {
  constexpr std::size_t kAtOnce = 1000;
  for (std::size_t from = 0; from < keys.size(); from += kAtOnce) {
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(from);
    const auto count = static_cast<std::ptrdiff_t>(std::min(kAtOnce, keys.size() - from));
    WEIR_CO_CHECK(co_await store.remove(std::vector<storage::ObjectKey>(first, first + count)));
  }
  co_return Status();
}

// All that are not of a later position than `latest`, but itself; the oldest first.
std::vector<SnapshotRef> others_before(const SnapshotKeys& keys, const SnapshotRef& latest) {
  std::vector<SnapshotRef> out;
  for (const auto& [key, position] : keys.manifests) {
    if (position <= latest.position && key != latest.manifest_key) out.push_back({position, key});
  }
  return out;
}

// The manifests before the latest but the one that stands right before it, and `keep`: what stands
// right before may be of a writer that died, or damaged.
std::vector<storage::ObjectKey> old_manifests(const SnapshotKeys& keys, const SnapshotRef& latest,
                                              const SnapshotRef& keep) {
  std::vector<SnapshotRef> others = others_before(keys, latest);
  // Others of its own position were not recorded, and share all parts with it: none of them can
  // take its place when a part is lost.
  const auto before = std::ranges::find_if(
      others.rbegin(), others.rend(),
      [&latest](const SnapshotRef& other) { return other.position < latest.position; });
  if (before != others.rend()) others.erase(std::next(before).base());
  std::vector<storage::ObjectKey> out;
  for (SnapshotRef& other : others) {
    if (other.manifest_key != keep.manifest_key) out.push_back(std::move(other.manifest_key));
  }
  return out;
}

}  // namespace

Task<Result<WrittenSnapshot>> SnapshotStore::write(Position position, BrokerEpoch writer,
                                                   std::vector<ChunkSource> sources, Snapshot base,
                                                   std::function<Task<Status>()> confirm) {
  const ChunksByName base_chunks = by_name(base.manifest);
  WEIR_CO_CHECK(check_sources(sources, base_chunks));
  WEIR_CO_TRY(SnapshotRef latest, co_await log_.latest_snapshot());
  if (latest.position >= position) co_return superseded(position, latest);
  WriteJob job{
      .store = store_, .sources = sources, .base = base_chunks, .manifest = {position, {}}};
  for (const ChunkSource& source : sources) job.manifest.chunks.push_back({.name = source.name});
  WEIR_CO_CHECK(co_await for_each_parallel(
      sources.size(), kParallel, [&job](std::size_t index) { return write_chunk(job, index); }));

  const Slice manifest = encode_manifest(job.manifest);
  const SnapshotRef ref{position, manifest_key(position, writer, sha256(manifest.bytes()))};
  WEIR_CO_CHECK(co_await store_.put(ref.manifest_key, Chain(manifest)));
  if (!base.ref.manifest_key.empty()) {
    WEIR_CO_CHECK(co_await check_base(store_, base.ref.manifest_key, ref.manifest_key));
  }
  WEIR_CO_CHECK(co_await record(ref, std::move(confirm)));
  WEIR_CO_TRY(latest, co_await log_.latest_snapshot());
  if (latest.manifest_key != ref.manifest_key) co_return superseded(position, latest);
  co_return WrittenSnapshot{{ref, std::move(job.manifest)}, job.chunks_written, job.bytes_written};
}

// The log may have been put back to an older state while the snapshot was written: then it may be
// of entries that the log does not have.
Task<Status> SnapshotStore::record(SnapshotRef ref, std::function<Task<Status>()> confirm) {
  const std::uint64_t incarnation = log_.incarnation();
  if (confirm) {
    WEIR_CO_CHECK(co_await confirm());
    if (log_.incarnation() != incarnation) {
      co_return fail(ErrorCode::kUnavailable, "the log was connected to again meanwhile");
    }
  }
  co_return co_await log_.record_snapshot(std::move(ref));
}

Task<Result<Snapshot>> SnapshotStore::latest() {
  for (int attempt = 1;; ++attempt) {
    Snapshot out;
    WEIR_CO_TRY(out.ref, co_await log_.latest_snapshot());
    if (out.ref.manifest_key.empty()) co_return out;
    auto manifest = co_await read_manifest(store_, out.ref.manifest_key);
    if (manifest) {
      out.manifest = std::move(*manifest);
      co_return out;
    }
    const bool pruned = manifest.error().code == ErrorCode::kNotFound;
    if (!pruned || attempt == kLoadAttempts) co_return std::unexpected(std::move(manifest).error());
  }
}

Task<Result<LoadedSnapshot>> SnapshotStore::load_latest() {
  for (int attempt = 1;; ++attempt) {
    WEIR_CO_TRY(Snapshot snapshot, co_await latest());
    auto loaded = co_await load_chunks(std::move(snapshot));
    const bool pruned = !loaded && loaded.error().code == ErrorCode::kNotFound;
    if (!pruned || attempt == kLoadAttempts) co_return loaded;
  }
}

Task<Result<LoadedSnapshot>> SnapshotStore::load_chunks(Snapshot snapshot) {
  LoadedSnapshot out{.snapshot = std::move(snapshot), .chunks = {}};
  const auto& chunks = out.snapshot.manifest.chunks;
  out.chunks.resize(chunks.size());
  WEIR_CO_CHECK(co_await for_each_parallel(chunks.size(), kParallel, [&](std::size_t index) {
    return load_chunk(store_, chunks[index], out.chunks[index]);
  }));
  co_return out;
}

Task<Result<LoadedSnapshot>> SnapshotStore::load(SnapshotRef ref) {
  WEIR_CO_TRY(SnapshotManifest manifest, co_await read_manifest(store_, ref.manifest_key));
  co_return co_await load_chunks({std::move(ref), std::move(manifest)});
}

Task<Result<std::vector<SnapshotRef>>> SnapshotStore::before(SnapshotRef latest) {
  WEIR_CO_TRY(const SnapshotKeys keys, co_await list_keys(store_));
  std::vector<SnapshotRef> out = others_before(keys, latest);
  std::ranges::reverse(out);
  co_return out;
}

Task<Result<PrunedSnapshots>> SnapshotStore::prune(SnapshotRef keep) {
  WEIR_CO_TRY(const SnapshotRef latest, co_await log_.latest_snapshot());
  PrunedSnapshots pruned;
  if (latest.manifest_key.empty()) co_return pruned;
  WEIR_CO_TRY(SnapshotKeys keys, co_await list_keys(store_));
  if (!keys.manifests.contains(latest.manifest_key)) {
    co_return fail(ErrorCode::kNotFound,
                   fmt::format("snapshot {} of the log is not in the store", latest.manifest_key));
  }
  if (!keep.manifest_key.empty() && !keys.manifests.contains(keep.manifest_key)) co_return pruned;
  const auto old = old_manifests(keys, latest, keep);
  WEIR_CO_CHECK(co_await remove_all(store_, old));
  pruned.manifests = old.size();

  // Only now which are left: a snapshot written meanwhile may share chunks of those just removed.
  WEIR_CO_TRY(keys, co_await list_keys(store_));
  std::unordered_set<std::string> named;
  for (const auto& [key, position] : keys.manifests) {
    auto manifest = co_await read_manifest(store_, key);
    // Another prunes, for a later snapshot that may share what this manifest named.
    if (!manifest && manifest.error().code == ErrorCode::kNotFound) co_return pruned;
    if (!manifest) co_return std::unexpected(std::move(manifest).error());
    for (const SnapshotChunk& chunk : manifest->chunks) named.insert(chunk_key(chunk));
  }
  std::vector<storage::ObjectKey> unnamed;
  for (const auto& [key, position] : keys.chunks) {
    const bool is_named = named.contains(key) && !planted(Bug::kSnapshotPrunedTooFar);
    if (position <= latest.position && !is_named) unnamed.push_back(key);
  }
  WEIR_CO_CHECK(co_await remove_all(store_, unnamed));
  pruned.chunks = unnamed.size();
  co_return pruned;
}

}  // namespace weir::metadata
