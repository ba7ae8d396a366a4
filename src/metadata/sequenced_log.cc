#include "metadata/sequenced_log.h"

#include "metadata/log/log_rules.h"
#include "runtime/log.h"

#include <algorithm>

namespace weir::metadata {
namespace {

// A larger entry fills a group by itself; to send it to another broker first would gain nothing,
// unless this one loses every race.
constexpr ByteCount kCarriedMax = 1_MiB;

// After an append that was not handed over, and after one whose outcome is unknown: that one held
// this broker up for as long as the carrier waits, and is looked for in the log.
constexpr Duration kRefusedRest = std::chrono::seconds(1);
constexpr Duration kUnknownRest = std::chrono::seconds(10);
constexpr Duration kLongestRest = std::chrono::seconds(60);

// Once another broker was asked the entry may stand there, whoever says that it was not handed
// over.
Result<Appended> no_refusal(Result<Appended> appended) {
  const bool is_refused = !appended && appended.error().code == ErrorCode::kRefused;
  if (is_refused) appended.error().code = ErrorCode::kUnavailable;
  return appended;
}

constexpr const char* kMetric = "weir_metadata_carried_appends_total";
constexpr const char* kHelp =
    "Appends to the log in the object store that went through the broker that writes for all.";

}  // namespace

SequencedLog::SequencedLog(std::unique_ptr<MetadataLog> inner, AppendCarrier& carrier, Clock& clock,
                           Rng rng, MetricsRegistry& metrics)
    : ForwardingLog(std::move(inner)),
      carrier_(carrier),
      clock_(clock),
      carried_(metrics.counter(kMetric, kHelp, {{"outcome", "appended"}})),
      refused_(metrics.counter(kMetric, kHelp, {{"outcome", "refused"}})),
      unknown_(metrics.counter(kMetric, kHelp, {{"outcome", "unknown"}})),
      refused_backoff_(kRefusedRest, kLongestRest),
      unknown_backoff_(kUnknownRest, kLongestRest),
      rng_(rng) {}

void SequencedLog::follow(std::shared_ptr<const BrokerImage> sequencer) {
  std::lock_guard lock(mutex_);
  sequencer_ = std::move(sequencer);
  rest_until_ = {};
  refused_backoff_.reset();
  unknown_backoff_.reset();
}

std::shared_ptr<const BrokerImage> SequencedLog::sequencer(Resting resting) const {
  std::lock_guard lock(mutex_);
  return resting == Resting::kCounts && clock_.now() < rest_until_ ? nullptr : sequencer_;
}

void SequencedLog::carried(const Status& status) {
  std::lock_guard lock(mutex_);
  if (status) {
    carried_.add();
    refused_backoff_.reset();
    unknown_backoff_.reset();
    return;
  }
  const bool is_refused = status.error().code == ErrorCode::kUnavailable;
  (is_refused ? refused_ : unknown_).add();
  rest_until_ = clock_.now() + (is_refused ? refused_backoff_ : unknown_backoff_).next(rng_);
  log::warn("metadata.sequencer.failed", {{"error", status.error()}});
}

Task<Result<Appended>> SequencedLog::hand_over(std::shared_ptr<const BrokerImage> to, Slice entry,
                                               Position known) {
  const MonoTime began = clock_.now();
  auto appended = co_await carrier_.carry(*to, std::move(entry), known);
  if (appended) below().heard_of(appended->position, began);
  carried(appended ? Status() : std::unexpected(appended.error()));
  co_return no_refusal(std::move(appended));
}

Task<Result<Appended>> SequencedLog::append(Slice entry, Position known) {
  WEIR_CO_CHECK(check_append(entry, known));
  const bool is_taken = carrier_.takes(entry);
  const auto first =
      is_taken && entry.size() <= kCarriedMax ? sequencer(Resting::kCounts) : nullptr;
  if (first) {
    auto appended = co_await hand_over(first, entry, known);
    if (appended || appended.error().code != ErrorCode::kUnavailable) co_return appended;
  }
  auto appended = co_await below().append(entry, known);
  if (first) appended = no_refusal(std::move(appended));
  if (appended || appended.error().code != ErrorCode::kConflict) co_return appended;
  // Others were faster all the time: whoever writes for all is well, and this broker alone would
  // go on losing.
  auto to = is_taken ? sequencer(Resting::kDoesNot) : nullptr;
  if (!to) co_return appended;
  co_return co_await hand_over(std::move(to), std::move(entry), known);
}

const BrokerImage* sequencer_of(const ClusterImage& cluster) {
  auto oldest = std::ranges::min_element(cluster.brokers, {},
                                         [](const auto& broker) { return broker.second.epoch; });
  return oldest == cluster.brokers.end() ? nullptr : &oldest->second;
}

void SequencerWatch::on_image_changed() {
  const auto image = coordinator_.image();
  const BrokerImage* broker = sequencer_of(*image);
  const BrokerEpoch epoch = broker == nullptr ? -1 : broker->epoch;
  if (epoch == followed_) return;
  followed_ = epoch;
  if (broker != nullptr && broker->id == self_) broker = nullptr;
  log_.follow(broker == nullptr ? nullptr : std::make_shared<const BrokerImage>(*broker));
}

}  // namespace weir::metadata
