#include "metadata/log/object_worker.h"

#include "metadata/store_marker.h"
#include "runtime/log.h"
#include "storage/conditional_put_probe.h"

#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <future>

namespace weir::metadata {
namespace {

using object_log::block_of;
using object_log::Group;
using object_log::kBlock;
using object_log::kClosed;
using object_log::kClusterId;
using object_log::kEntries;
using object_log::key;
using object_log::kLog;
using object_log::kSnapshots;
using object_log::kTrims;
using object_log::number_of;
using std::chrono::milliseconds;
using Upto = ObjectChain::Upto;

constexpr storage::PutOptions kIfAbsent{.if_absent = true};

// After a group a writer waits for as long as it took, if it met another's: who lost against it is
// behind it by up to a request and would lose again and again, since both make two requests for a
// position. Others show themselves with heartbeats.
constexpr Duration kLongestRest = milliseconds(500);
// At least for so long it waits when it appends for others, so that entries gather: each group is a
// GET for every other broker, and on a store that answers at once they would not keep up.
constexpr Duration kGatheringRest = milliseconds(20);
constexpr Duration kOthersShow = std::chrono::minutes(1);

// Of others' groups that a writer met, before it looks for the mark.
constexpr std::size_t kMostUnchecked = 8;

// A writer that has lost for so long may go on losing for as long as the winner writes.
constexpr Duration kLongestRace = milliseconds(1000);

// How often something is looked for anew that was there and is not.
constexpr int kTries = 4;

// Between two looks at the end, by what the last one found. docs/adr/0013-idle-object-log.md has
// the arithmetic.
constexpr Duration kShortestPoll = milliseconds(100);
constexpr Duration kLongestPoll = milliseconds(4000);
// When looks are rarer, one entry is seldom followed by another at once.
constexpr Duration kSilence = milliseconds(1000);
// Of what a broker heard of, so much it reads later, with what else there is: its heartbeat and
// those that came with it. Where there is more, others write, too.
constexpr Position kFewHeard = 8;
// Who looked longer ago looks before it writes: a GET costs a tenth of a PUT in vain. Who commits
// in the usual interval does not.
constexpr Duration kFresh = milliseconds(300);

Chain text(std::string_view text) { return Chain(Slice::copy_of(text)); }

bool is_conflict(const Status& status) {
  return !status && status.error().code == ErrorCode::kConflict;
}

Status unless_conflict(Status status) { return is_conflict(status) ? Status() : status; }

}  // namespace

ObjectLog::Worker::Worker(storage::ObjectStore& store, std::string where, Clock& clock,
                          Executor executor, ObjectLogOptions options)
    : clock_(clock),
      where_(std::move(where)),
      rng_(options.rng),
      store_(store, clock, Rng(rng_.next()), options.retries),
      executor_(std::move(executor)),
      chain_(store_) {
  if (!options.probe || options.missing == MissingLog::kFail) fit_ = Status();
}

Task<void> ObjectLog::Worker::stop() {
  store_.stop();
  group_.stop();
  somebody_waits_.notify();
  co_await group_.join();
}

Status ObjectLog::Worker::run_blocking(Task<Status> task) {
  std::promise<Status> done;
  boost::asio::co_spawn(executor_, std::move(task),
                        [&](const std::exception_ptr& error, Status status) {
                          if (error) std::rethrow_exception(error);
                          done.set_value(std::move(status));
                        });
  return done.get_future().get();
}

Task<Status> ObjectLog::Worker::try_out() {
  if (fit_) co_return *fit_;
  Status probed = co_await storage::probe_conditional_put(store_, where_, rng_);
  if (probed || probed.error().code == ErrorCode::kInvalid) fit_ = probed;
  if (!probed) log::warn("metadata.object.unfit", {{"store", where_}, {"error", probed.error()}});
  co_return probed;
}

Task<Status> ObjectLog::Worker::find_any() {
  WEIR_CO_TRY(const storage::ListPage page, co_await store_.list(std::string(kLog), "", 1));
  if (!page.objects.empty()) co_return Status();
  co_return fail(
      ErrorCode::kInvalid,
      fmt::format("{} holds no metadata log: give the store that a broker wrote to", where_));
}

Task<Result<Appended>> ObjectLog::Worker::append(Slice entry, Position known, Whose whose) {
  if (whose == Whose::kAnothers) carried_ = clock_.now();
  OneShot<Result<Appended>> done;
  WEIR_CO_CHECK(queue_.push({std::move(entry), known, done}));
  if (!std::exchange(writing_, true)) group_.spawn(executor_, write_groups());
  co_return co_await done.wait();
}

Task<void> ObjectLog::Worker::write_groups() {
  while (!queue_.empty()) {
    if (const MonoTime now = clock_.now(); now < rest_until_) {
      co_await group_.sleep(clock_, rest_until_ - now);
    }
    Pending group = queue_.take_group();
    Status status = co_await try_out();
    while (status && !group.empty()) status = co_await write_some(group);
    if (!status) fail_all(group, status.error());
  }
  writing_ = false;
}

// What stands where `entries` were put: they or another's; nothing, when what stood there was
// deleted. An error, whatever its code: that is not known.
Task<Result<std::optional<Group>>> ObjectLog::Worker::put_group(Position first,
                                                                std::vector<Slice> entries) {
  writer_ = Uuid::from_random(rng_.next(), rng_.next());
  Group own{.writer = writer_};
  for (const Slice& entry : entries) {
    own.entries.push_back({first + static_cast<Position>(own.entries.size()), entry});
  }
  const Status put = co_await store_.put(
      key(kEntries, first), object_log::encode_group(own.writer, first, entries), kIfAbsent);
  if (put) co_return own;
  // Another's, or the own one, whose answer was lost. Nothing: the own one may still come.
  auto there = co_await chain_.get(first);
  if (there) co_return *std::move(there);
  if (there.error().code != ErrorCode::kNotFound) {
    chain_.forget();
    co_return std::unexpected(there.error());
  }
  if (is_conflict(put)) co_return std::nullopt;
  chain_.forget();
  co_return std::unexpected(put.error());
}

Task<Status> ObjectLog::Worker::write_some(Pending& group) {
  std::vector<Group> unchecked;  // others' that were met, and at last the own one
  const MonoTime started = clock_.now();
  for (int deleted = 0; deleted < kTries;) {
    if (unchecked.empty() && !chain_.known()) WEIR_CO_CHECK(co_await look(Upto::kEnd));
    if (unchecked.empty() && clock_.now() - looked_ > kFresh && !writes_for_all()) {
      WEIR_CO_TRY(unchecked, co_await chain_.peek());
      looked_ = clock_.now();
      if (!unchecked.empty()) met_ = looked_;
    }
    Position first = chain_.tail() + 1;
    if (!unchecked.empty()) first = std::max(first, unchecked.back().last() + 1);
    const auto room = static_cast<std::size_t>(kBlock - (first - 1) % kBlock);
    const std::size_t count = std::min(group.size(), room);
    std::vector<Slice> entries;
    for (std::size_t i = 0; i < count; ++i) entries.push_back(group[i].entry);
    const MonoTime began = clock_.now();
    WEIR_CO_TRY(std::optional<Group> there, co_await put_group(first, entries));
    if (!there) {
      // The log went on without this broker.
      ++deleted;
      unchecked.clear();
      WEIR_CO_CHECK(co_await chain_.advance(Upto::kEnd));
      continue;
    }
    const bool own = there->writer == writer_;
    if (!own) met_ = clock_.now();
    unchecked.push_back(*std::move(there));
    // Whoever lost is as fast with the next one as the winner, who looks for the mark meanwhile.
    if (!own && unchecked.size() < kMostUnchecked) continue;
    WEIR_CO_CHECK(co_await chain_.check_mark(unchecked.front().first()));
    for (Group& one : unchecked) chain_.add(std::move(one));
    unchecked.clear();
    if (!own && clock_.now() - started > kLongestRace) {
      co_return fail(ErrorCode::kConflict, "metadata log: others are faster with every entry");
    }
    if (!own) continue;
    looked_ = clock_.now();
    rest_until_ = looked_ + rest_after(looked_ - began);
    co_await answer_appends(group, count, first);
    co_return Status();
  }
  co_return fail(ErrorCode::kUnavailable,
                 "metadata log: the object store holds back what it says is there");
}

// Then a look before each group would find nothing. Who cannot reach this broker and appends for
// itself is met, and shows itself with heartbeats from then on.
bool ObjectLog::Worker::writes_for_all() const {
  const MonoTime since = clock_.now() - kOthersShow;
  return carried_ > since && met_ <= since;
}

Duration ObjectLog::Worker::rest_after(Duration group) const {
  const MonoTime since = clock_.now() - kOthersShow;
  return std::max(met_ > since ? std::min(group, kLongestRest) : Duration::zero(),
                  carried_ > since ? kGatheringRest : Duration::zero());
}

Task<void> ObjectLog::Worker::answer_appends(Pending& group, std::size_t count, Position first) {
  const auto end = group.begin() + static_cast<std::ptrdiff_t>(count);
  const Position known =
      std::min_element(group.begin(), end, [](const PendingAppend& a, const PendingAppend& b) {
        return a.known < b.known;
      })->known;
  std::vector<LogEntry> earlier;
  if (known >= chain_.trimmed() && known + 1 < first && !chain_.holds(known + 1)) {
    // The appends stand already: an error here only makes the answer shorter.
    auto read = co_await chain_.read(known, kAppendAnswerBytes);
    if (read) earlier = *std::move(read);
  }
  Position own = first;
  for (auto append = group.begin(); append != end; ++append, ++own) {
    AnswerEntries entries(kAppendAnswerBytes);
    if (append->known >= chain_.trimmed()) {
      const Position next = add_run(entries, earlier, append->known + 1, own);
      chain_.collect(entries, next, own);
    }
    append->done.set(Appended{own, entries.release()});
  }
  group.erase(group.begin(), end);
  watch_.raise(own - 1);
}

Task<Result<std::vector<LogEntry>>> ObjectLog::Worker::read(Position after, ByteCount limit) {
  auto entries = co_await chain_.read(after, limit);
  watch_.raise(chain_.tail());
  co_return entries;
}

Task<Result<Position>> ObjectLog::Worker::tail() {
  WEIR_CO_CHECK(co_await chain_.advance(Upto::kEnd));
  watch_.raise(chain_.tail());
  co_return chain_.tail();
}

Task<void> ObjectLog::Worker::wait_past(Position position, MonoTime deadline) {
  if (!polls_.exchange(true)) group_.spawn(executor_, poll());
  if (waiting_++ == 0) somebody_waits_.notify();
  co_await watch_.wait_past(position, clock_, deadline);
  --waiting_;
}

// The one that wrote the entry found nothing behind it then, as this broker would have.
Task<void> ObjectLog::Worker::expect(Position position, MonoTime began) {
  if (!chain_.known() || position - chain_.tail() > kFewHeard) co_return;
  chain_.expect(position);
  heard_ = std::max(heard_, began);
}

Task<Status> ObjectLog::Worker::look(ObjectChain::Upto upto) {
  const MonoTime now = clock_.now();
  const Position before = chain_.tail();
  WEIR_CO_CHECK(co_await chain_.advance(upto));
  looked_ = std::max(looked_, now);
  if (chain_.tail() > before) met_ = now;
  co_return Status();
}

Task<void> ObjectLog::Worker::poll() {
  Duration delay = kShortestPoll;
  MonoTime tried;
  while (!group_.stopping()) {
    if (waiting_ == 0) {
      co_await somebody_waits_.wait();
      continue;
    }
    // To write is to look, too, and so is to hear from the one that writes.
    const MonoTime due = std::max({tried, looked_, heard_}) + delay;
    if (const MonoTime now = clock_.now(); now < due) {
      if (!co_await group_.sleep(clock_, due - now)) break;
      continue;
    }
    tried = clock_.now();
    const bool silent = delay > kSilence;
    // What this broker heard of is no sign that others write.
    const Position before = silent ? std::max(chain_.tail(), chain_.expected()) : chain_.tail();
    const Status looked = co_await look(silent ? Upto::kNext : Upto::kSome);
    if (looked && chain_.tail() > before) {
      delay = std::max(delay / (silent ? 2 : 4), kShortestPoll);
    } else {
      delay = std::min(delay * 2, kLongestPoll);
    }
    watch_.raise(chain_.tail());
  }
}

Task<Result<std::vector<Position>>> ObjectLog::Worker::numbers(std::string_view prefix) {
  std::vector<Position> out;
  std::string after;
  while (true) {
    WEIR_CO_TRY(const storage::ListPage page,
                co_await store_.list(std::string(prefix), after, storage::kMaxListLimit));
    for (const storage::ObjectInfo& object : page.objects) {
      if (const auto number = number_of(prefix, object.key)) out.push_back(*number);
      after = object.key;
    }
    if (!page.more) co_return out;
  }
}

Task<Status> ObjectLog::Worker::remove_all_but_last(std::string_view prefix) {
  WEIR_CO_TRY(const std::vector<Position> all, co_await numbers(prefix));
  std::vector<storage::ObjectKey> keys;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) keys.push_back(key(prefix, all[i]));
  if (keys.empty()) co_return Status();
  co_return co_await store_.remove(std::move(keys));
}

Task<Result<SnapshotRef>> ObjectLog::Worker::latest_snapshot() {
  for (int i = 0; i < kTries; ++i) {
    WEIR_CO_TRY(const std::vector<Position> all, co_await numbers(kSnapshots));
    if (all.empty()) co_return SnapshotRef{};
    auto manifest = co_await store_.get(key(kSnapshots, all.back()));
    if (manifest) co_return SnapshotRef{all.back(), std::string(as_text(manifest->bytes()))};
    // Removed because there is a newer one.
    if (manifest.error().code != ErrorCode::kNotFound) {
      co_return std::unexpected(manifest.error());
    }
  }
  co_return fail(ErrorCode::kUnavailable,
                 "metadata log: the object store lists a snapshot that is not there");
}

Task<Status> ObjectLog::Worker::record_snapshot(SnapshotRef ref) {
  WEIR_CO_TRY(const Position end, co_await tail());
  WEIR_CO_CHECK(check_snapshot(ref, end));
  WEIR_CO_TRY(const SnapshotRef latest, co_await latest_snapshot());
  if (ref.position <= latest.position) co_return Status();
  WEIR_CO_CHECK(unless_conflict(
      co_await store_.put(key(kSnapshots, ref.position), text(ref.manifest_key), kIfAbsent)));
  co_return co_await remove_all_but_last(kSnapshots);
}

Task<Status> ObjectLog::Worker::trim(Position upto) {
  WEIR_CO_TRY(const SnapshotRef latest, co_await latest_snapshot());
  WEIR_CO_CHECK(check_trim(upto, latest));
  WEIR_CO_CHECK(co_await chain_.advance(Upto::kEnd));
  if (upto > chain_.trimmed()) {
    WEIR_CO_CHECK(
        unless_conflict(co_await store_.put(key(kTrims, upto), text("trimmed"), kIfAbsent)));
    chain_.set_trimmed(upto);
    WEIR_CO_CHECK(co_await remove_all_but_last(kTrims));
  }
  co_return co_await delete_trimmed();
}

// The mark of a block comes before the first deletion in it: object_chain.h says why.
Task<Status> ObjectLog::Worker::delete_trimmed() {
  const Position blocks = chain_.trimmed() / kBlock;  // that are trimmed as a whole
  while (true) {
    WEIR_CO_TRY(const storage::ListPage page,
                co_await store_.list(std::string(kEntries), "", storage::kMaxListLimit));
    std::vector<storage::ObjectKey> keys;
    Position marked = -1;
    for (const storage::ObjectInfo& object : page.objects) {
      const auto number = number_of(kEntries, object.key);
      if (!number || block_of(*number) >= blocks) break;
      if (const Position block = block_of(*number); block != marked) {
        WEIR_CO_CHECK(co_await store_.put(key(kClosed, block), text("closed"), {}));
        marked = block;
      }
      keys.push_back(object.key);
    }
    if (keys.empty()) co_return Status();
    WEIR_CO_CHECK(co_await store_.remove(std::move(keys)));
  }
}

Task<Result<Uuid>> ObjectLog::Worker::cluster_id(Uuid proposal) {
  const storage::ObjectKey where(kClusterId);
  auto stored = co_await store_.get(where);
  if (!stored && stored.error().code == ErrorCode::kNotFound) {
    if (proposal.is_zero()) co_return proposal;
    WEIR_CO_CHECK(unless_conflict(
        co_await store_.put(where, Chain(encode_store_marker(proposal)), kIfAbsent)));
    stored = co_await store_.get(where);
  }
  if (!stored) co_return std::unexpected(stored.error());
  auto id = decode_store_marker(stored->bytes());
  if (!id) co_return std::unexpected(id.error().in(where));
  co_return id;
}

}  // namespace weir::metadata
