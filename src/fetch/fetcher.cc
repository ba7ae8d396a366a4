#include "fetch/fetcher.h"

#include "base/planted.h"
#include "fetch/read_plan.h"
#include "kafka/error_map.h"
#include "runtime/lazy_deadline.h"
#include "runtime/log.h"
#include "runtime/task_group.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace weir::fetch {
namespace {

using kafka::KafkaError;

// Objects that one fetch reads at the same time.
constexpr std::size_t kParallelReads = 8;

// What was not begun in so much time is left to the next fetch: a client that waits for one answer
// for too long asks for the same again, and would never get on. Many small objects, or a slow
// store, make long fetches.
constexpr Duration kReadingTime = std::chrono::seconds(1);

// Answers of this size are no more than what a connection takes otherwise.
constexpr ByteCount kAlwaysGiven = 16_KiB;

// What is asked for at least where memory is short.
constexpr ByteCount kLeast = 64_KiB;

// The first batch is given whole, and how large it is shows when it was read: so much is expected
// (max.message.bytes), or its extent, if that is smaller.
constexpr ByteCount kFirstBatch = 1_MiB;

// Answers up to here are copied.
constexpr ByteCount kCopied = 64_KiB;

// How often a fetch that waits for data is asked whether it must go on.
constexpr Duration kHurryCheck = std::chrono::milliseconds(100);

// Less than clients wait for an answer.
constexpr Duration kMemoryWait = std::chrono::seconds(20);

// A copy in memory of its own: a slice keeps the whole object that it lies in.
Chain detached(const Chain& records) {
  Chain out;
  for (const Slice& slice : records.slices()) out.append(Slice::copy_of(slice.bytes()));
  return out;
}

// Partitions that do not exist are answered, but do not end the wait of the others.
bool is_unknown(KafkaError error) {
  return error == KafkaError::kUnknownTopicOrPartition || error == KafkaError::kUnknownTopicId;
}

// Errors that a state which is behind may cause.
bool is_doubtful(KafkaError error) {
  return is_unknown(error) || error == KafkaError::kOffsetOutOfRange ||
         error == KafkaError::kUnknownLeaderEpoch;
}

}  // namespace

Fetcher::Fetcher(metadata::Coordinator& coordinator, ObjectReader& reader, Waiters& waiters,
                 ByteBudget& memory, Clock& clock, MetricsRegistry& metrics)
    : coordinator_(coordinator),
      reader_(reader),
      waiters_(waiters),
      memory_(memory),
      clock_(clock),
      bytes_out_(
          metrics.counter("weir_fetch_bytes_total", "Bytes of record batches sent to consumers.")),
      failed_reads_(metrics.counter("weir_fetch_failed_reads_total",
                                    "Extents that could not be read or are damaged.")),
      shortened_(metrics.counter("weir_fetch_shortened_total",
                                 "Fetches that got less than they asked for because other answers "
                                 "took the memory.")),
      memory_waits_(metrics.counter("weir_fetch_memory_waits_total",
                                    "Fetches that waited for memory which other answers took.")),
      read_time_(metrics.histogram("weir_fetch_read_seconds",
                                   "Time to read and assemble the records of one fetch.",
                                   HistogramKind::kLatency)) {}

Task<std::vector<PartitionData>> Fetcher::fetch(std::vector<PartitionFetch> partitions,
                                                FetchOptions options) {
  auto image = coordinator_.image();
  std::vector<Target> targets = resolve(std::move(partitions), *image);
  co_await wait_for_data(targets, std::move(image), options);
  MonoTime start = clock_.now();
  if (!options.look_only) {
    co_await read_all(targets, options);
    read_time_.observe(clock_.now() - start);
  }
  std::vector<PartitionData> answers;
  answers.reserve(targets.size());
  for (Target& target : targets) answers.push_back(std::move(target.data));
  co_return answers;
}

void Fetcher::stop_waiting() {
  stop_waiting_.request_stop();
  waiters_.wake_all();
}

std::vector<Fetcher::Target> Fetcher::resolve(std::vector<PartitionFetch> partitions,
                                              const metadata::ClusterImage& image) const {
  std::vector<Target> targets;
  targets.reserve(partitions.size());
  for (PartitionFetch& request : partitions) {
    targets.push_back({.request = std::move(request)});
    resolve(targets.back(), image);
  }
  return targets;
}

void Fetcher::resolve(Target& target, const metadata::ClusterImage& image) const {
  const PartitionFetch& request = target.request;
  target.topic = request.by_id ? image.topic(request.topic_id) : image.topic(request.topic);
  target.id = {target.topic ? target.topic->id : TopicId{}, request.partition};
  target.was_created_anew = request.by_id && !target.topic && image.topic(request.known_as);
}

void Fetcher::look_at(Target& target) const {
  const PartitionFetch& request = target.request;
  const metadata::PartitionCell* cell =
      target.topic ? target.topic->partition(request.partition) : nullptr;
  target.data = {};
  target.view =
      cell != nullptr ? cell->view() : metadata::PartitionView{.deleted = true, .extents = {}};
  if (target.view.deleted) {
    bool is_unknown_id = request.by_id && (!target.topic || cell != nullptr);
    target.data.error =
        is_unknown_id ? KafkaError::kUnknownTopicId : KafkaError::kUnknownTopicOrPartition;
    if (target.was_created_anew) target.data.error = KafkaError::kInconsistentTopicId;
    return;
  }
  const LeaderEpoch epoch = coordinator_.image()->membership;
  target.data.error = check_leader_epoch(request.current_leader_epoch, epoch);
  if (target.data.error != KafkaError::kNone) return;
  auto last = end_of_epoch(target.view, epoch, request.last_fetched_epoch);
  if (last && request.fetch_offset > last->offset) target.data.diverging = last;
  bool is_out_of_range = request.fetch_offset < target.view.log_start ||
                         request.fetch_offset > target.view.high_watermark;
  bool is_unheard_of = request.last_fetched_epoch >= 0 && !last;
  if (is_unheard_of || (is_out_of_range && !target.data.diverging)) {
    target.data.error = KafkaError::kOffsetOutOfRange;
    return;
  }
  target.data.high_watermark =
      target.view.high_watermark + (planted(Bug::kHighWatermarkTooHigh) ? 1 : 0);
  target.data.last_stable_offset = target.view.high_watermark;
  target.data.log_start_offset = target.view.log_start;
}

Fetcher::Survey Fetcher::survey(std::vector<Target>& targets, const FetchOptions& options) const {
  Survey out;
  for (Target& target : targets) {
    look_at(target);
    out.has_unknown |= is_unknown(target.data.error);
    out.is_doubtful |= is_doubtful(target.data.error);
    if (is_unknown(target.data.error)) continue;
    out.has_partitions = true;
    if (target.data.error != KafkaError::kNone) {
      out.has_error = true;
      continue;
    }
    if (target.data.diverging) {
      out.has_error = true;
      out.is_doubtful = true;
      continue;
    }
    if (out.available >= options.min_bytes) continue;
    auto limit = static_cast<ByteCount>(std::max(target.request.max_bytes, 0));
    ByteCount bytes =
        available_bytes(target.view, target.request.fetch_offset, std::max<ByteCount>(limit, 1));
    out.available += std::min(bytes, std::max<ByteCount>(limit, 1));
  }
  return out;
}

// Partitions get new cells when this broker loads a snapshot: the old ones never change any more.
void Fetcher::follow(std::vector<Target>& targets,
                     std::shared_ptr<const metadata::ClusterImage>& image) const {
  auto now = coordinator_.image();
  if (now == image) return;
  image = std::move(now);
  for (Target& target : targets) resolve(target, *image);
}

Task<void> Fetcher::wait_for_data(std::vector<Target>& targets,
                                  std::shared_ptr<const metadata::ClusterImage> image,
                                  const FetchOptions& options) {
  const MonoTime deadline = clock_.now() + options.max_wait;
  auto is_enough = [&](const Survey& survey) {
    return !survey.has_partitions || survey.has_error || survey.available >= options.min_bytes;
  };
  Survey now = survey(targets, options);
  // Unknown partitions do not end the wait: whether they are is found out before it.
  if (now.has_unknown) {
    co_await confirm(targets);
    now = survey(targets, options);
  }
  bool is_hurried = false;
  auto may_wait = [&] {
    return clock_.now() < deadline && !stop_waiting_.stop_requested() &&
           !options.closed.stop_requested() && !options.look_only && !is_hurried;
  };
  while (!is_enough(now) && may_wait()) {
    std::vector<TopicPartition> ids;
    ids.reserve(targets.size());
    for (const Target& target : targets) ids.push_back(target.id);
    OneShot<bool> woken;
    Waiters::Enlisted enlisted(waiters_, options.core, std::move(ids), woken);
    // What came between the look and the enlisting would wake nobody: look again.
    follow(targets, image);
    now = survey(targets, options);
    if (is_enough(now) || !may_wait()) break;
    std::stop_callback on_closed(options.closed, [woken]() mutable { woken.set(false); });
    const Executor executor = co_await boost::asio::this_coro::executor;
    auto timer = clock_.call_at(deadline, executor, [woken]() mutable { woken.set(false); });
    std::optional<LazyDeadline> check;
    if (options.hurry) {
      check.emplace(clock_, executor, [&] {
        is_hurried = options.hurry();
        if (is_hurried) woken.set(false);
        check->set(clock_.now() + kHurryCheck);
      });
      check->set(clock_.now() + kHurryCheck);
    }
    co_await woken.wait();
    timer->cancel();
    follow(targets, image);
    now = survey(targets, options);
  }
  if (now.is_doubtful) co_await confirm(targets);
}

// This broker may be behind. Clients jump on OFFSET_OUT_OF_RANGE, truncate what diverges and give
// up on topics that do not exist, so none of it is ever said without asking the log.
Task<void> Fetcher::confirm(std::vector<Target>& targets) {
  if (planted(Bug::kOutOfRangeUnconfirmed)) co_return;
  Status caught_up = co_await coordinator_.catch_up();
  auto image = coordinator_.image();
  for (Target& target : targets) {
    if (!is_doubtful(target.data.error) && !target.data.diverging) continue;
    resolve(target, *image);
    // A client that knows of a later epoch than the log's last answer is served all the same.
    if (!caught_up) target.request.current_leader_epoch = -1;
    look_at(target);
    if (caught_up) continue;
    if (is_unknown(target.data.error)) target.data.error = KafkaError::kLeaderNotAvailable;
    if (target.data.error == KafkaError::kOffsetOutOfRange || target.data.diverging)
      target.data.error = KafkaError::kOffsetNotAvailable;
    target.data.diverging.reset();
  }
}

Fetcher::Plan Fetcher::plan_reads(std::vector<Target>& targets, ByteCount max_bytes) {
  Plan plan{.max_bytes = max_bytes};
  for (Target& target : targets) {
    target.extents.clear();
    bool has_answer = target.data.error != KafkaError::kNone || target.data.diverging;
    if (has_answer || plan.bytes >= max_bytes) continue;
    auto wanted = static_cast<ByteCount>(std::max(target.request.max_bytes, 0));
    ByteCount limit = std::min(wanted, max_bytes - plan.bytes);
    target.extents =
        extents_from(target.view, target.request.fetch_offset, std::max<ByteCount>(limit, 1));
    ByteCount bytes = 0;
    for (const metadata::Extent& extent : target.extents) {
      plan.reads.push_back(
          {.extent = &extent, .depth = static_cast<std::size_t>(&extent - target.extents.data())});
      bytes += extent.byte_length;
    }
    plan.bytes += std::min(bytes, limit);
  }
  if (!plan.reads.empty()) {
    const ByteCount first = plan.reads.front().extent->byte_length;
    plan.bytes = std::max(plan.bytes, std::min(first, kFirstBatch));
  }
  return plan;
}

Task<std::optional<Fetcher::Plan>> Fetcher::plan_within_memory(std::vector<Target>& targets,
                                                               const FetchOptions& options) {
  const ByteCount most = std::max<ByteCount>(options.max_bytes, 1);
  Plan plan = plan_reads(targets, std::min(most, memory_.limit()));
  bool is_shortened = false;
  while (plan.bytes > kAlwaysGiven) {
    plan.memory->bytes = plan.bytes;
    plan.memory->reservation = memory_.try_reserve(plan.bytes);
    if (plan.memory->reservation) break;
    if (plan.max_bytes <= kLeast) {
      if (!co_await wait_for_memory(*plan.memory, plan.bytes, options)) co_return std::nullopt;
      break;
    }
    plan = plan_reads(targets, std::max(std::min(plan.bytes, plan.max_bytes) / 4, kLeast));
    is_shortened = true;
  }
  if (is_shortened) shortened_.add();
  co_return plan;
}

Task<bool> Fetcher::wait_for_memory(AnswerMemory& memory, ByteCount bytes,
                                    const FetchOptions& options) {
  memory_waits_.add();
  std::stop_source stop;
  std::stop_callback on_closed(options.closed, [stop]() mutable { stop.request_stop(); });
  std::stop_callback on_shutdown(stop_waiting_.get_token(),
                                 [stop]() mutable { stop.request_stop(); });
  auto timer = clock_.call_at(clock_.now() + kMemoryWait, co_await boost::asio::this_coro::executor,
                              [stop]() mutable { stop.request_stop(); });
  memory.reservation.reset();
  memory.reservation = co_await memory_.reserve(bytes, stop.get_token());
  memory.bytes = bytes;
  timer->cancel();
  co_return memory.reservation != nullptr;
}

Task<void> Fetcher::read_all(std::vector<Target>& targets, const FetchOptions& options) {
  std::optional<Plan> plan = co_await plan_within_memory(targets, options);
  if (!plan) co_return;
  ByteCount sent = co_await read_planned(targets, *plan);
  AnswerMemory& memory = *plan->memory;
  if (sent > std::max(memory.bytes, kAlwaysGiven)) {
    // A first batch that is larger than what was expected. Who has read it gives it back and waits
    // for its turn, or there would be one for each that waits.
    for (Target& target : targets) target.data.records = {};
    for (Read& read : plan->reads) read.bytes.reset();
    if (!co_await wait_for_memory(memory, sent, options)) co_return;
    sent = co_await read_planned(targets, *plan);
  }
  if (sent <= kCopied) {
    for (Target& target : targets)
      target.data.records =
          holding(detached(target.data.records), memory.reservation ? plan->memory : nullptr);
  }
  if (memory.reservation && sent < memory.bytes)
    memory.reservation = memory_.exchange(std::move(memory.reservation), sent);
  bytes_out_.add(sent);
}

Task<ByteCount> Fetcher::read_planned(std::vector<Target>& targets, Plan& plan) {
  co_await load(plan.reads);
  ByteCount sent = 0;
  std::size_t first = 0;
  for (Target& target : targets) {
    std::span<Read> own = std::span(plan.reads).subspan(first, target.extents.size());
    first += own.size();
    if (own.empty()) continue;
    ByteCount left = plan.max_bytes > sent ? plan.max_bytes - sent : 0;
    ByteCount limit = std::min(left, static_cast<ByteCount>(std::max(target.request.max_bytes, 0)));
    assemble(target, own, {.max_bytes = limit, .at_least_one = sent == 0, .memory = plan.memory});
    sent += target.data.records.size();
  }
  co_return sent;
}

Task<void> Fetcher::load(std::vector<Read>& reads) {
  auto loading = std::make_shared<Loading>();
  loading->end = clock_.now() + kReadingTime;
  for (Read& read : reads) loading->order.push_back(&read);
  // The beginning of each partition first: if time runs out, each has come further.
  std::ranges::sort(loading->order, {},
                    [](const Read* read) { return std::pair(read->depth, read); });
  if (reads.size() <= 1) {
    co_await load_from(loading);
    co_return;
  }
  TaskGroup group;
  Executor executor = co_await boost::asio::this_coro::executor;
  for (std::size_t i = 0; i < std::min(reads.size(), kParallelReads); ++i)
    group.spawn(executor, load_from(loading));
  co_await group.join();
}

Task<void> Fetcher::load_from(std::shared_ptr<Loading> loading) {
  while (loading->next < loading->order.size()) {
    if (loading->next > 0 && clock_.now() >= loading->end) co_return;
    Read& read = *loading->order[loading->next++];
    read.bytes = co_await reader_.read(*read.extent);
  }
}

void Fetcher::assemble(Target& target, std::span<Read> reads, AssemblyLimits limits) {
  BatchAssembly assembly(target.request.fetch_offset, std::move(limits));
  for (Read& read : reads) {
    if (!read.bytes) break;
    Result<Chain>& bytes = *read.bytes;
    if (!bytes) {
      if (assembly.size() == 0) fail_read(target, bytes.error());
      break;
    }
    Result<bool> more = assembly.add(*read.extent, *std::move(bytes));
    if (!more) reader_.forget(*read.extent);
    // What lies before the damage is served; the next fetch starts at it and gets the error.
    if (!more && assembly.size() == 0) fail_read(target, more.error());
    if (!more || !*more) break;
  }
  target.data.records = assembly.take();
}

void Fetcher::fail_read(Target& target, const Error& error) {
  failed_reads_.add();
  // An object may be gone because its records were deleted since the view was taken.
  look_at(target);
  if (target.data.error != KafkaError::kNone) return;
  target.data.error = kafka::read_error(error.code);
  log::warn("fetch.read.failed", {{"topic", target.topic->name},
                                  {"partition", target.request.partition},
                                  {"offset", target.request.fetch_offset},
                                  {"error", error.to_string()}});
}

}  // namespace weir::fetch
