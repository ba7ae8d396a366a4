#include "metadata/state/state.h"

#include "base/planted.h"
#include "metadata/state/published_state.h"

#include <fmt/format.h>

namespace weir::metadata {
namespace {

Status check_history(const HashChain& chain, const RecordHeader& header) {
  if (planted(Bug::kRestoredLogUnnoticed)) return {};
  auto own = chain.at(header.known);
  if (!own || *own == header.known_hash) return {};
  return fail(ErrorCode::kCorrupt,
              fmt::format("metadata log diverged at or before position {}: broker {} had hash "
                          "{:016x} there, here it is {:016x}",
                          header.known, header.broker, header.known_hash, *own));
}

template <typename T>
constexpr bool kBeforeRegistration =
    std::is_same_v<T, ClusterCreated> || std::is_same_v<T, SetFeatureLevel> ||
    std::is_same_v<T, RegisterBroker>;

}  // namespace

State::State(Tables tables, HashChain chain)
    : tables_(std::move(tables)), chain_(std::move(chain)) {}

Result<Applied> State::apply(const LogEntry& entry, BrokerEpoch results_of) {
  if (entry.position != position() + 1) {
    return fail(ErrorCode::kInternal,
                fmt::format("entry {} cannot follow entry {}", entry.position, position()));
  }
  auto record = decode_record(entry.bytes);
  if (!record)
    return std::unexpected(
        record.error().in(fmt::format("metadata log, entry {}", entry.position)));
  // Every broker sees this alike, whatever it keeps of the chain; to fail would leave a log with
  // which none could start again.
  const bool is_foreign = record->header.known >= entry.position;
  if (!is_foreign) WEIR_CHECK(check_history(chain_, record->header));
  chain_.add(entry.bytes.bytes());
  if (is_foreign) return Applied{.outcome = Applied::Outcome::kForeign, .header = record->header};
  constexpr Position kSkipped = 64;
  const bool is_skipped = record->header.epoch >= 0 && record->header.epoch != results_of &&
                          entry.position % kSkipped == results_of % kSkipped;
  if (planted(Bug::kEntrySkipped) && is_skipped) return Applied{.header = record->header};
  return apply_record(*record, entry.position, results_of);
}

Applied State::apply_record(const Record& record, Position position, BrokerEpoch results_of) {
  const RecordHeader& header = record.header;
  Applied applied{.header = header};
  if (header.epoch >= 0) {
    auto found = tables_.brokers.find(header.broker);
    if (found == tables_.brokers.end() || found->second.image.epoch != header.epoch ||
        (found->second.fenced && !planted(Bug::kFenceIgnored))) {
      applied.outcome = Applied::Outcome::kFenced;
      return applied;
    }
    found->second.last_position = position;
    if (header.sequence <= found->second.last_sequence && !planted(Bug::kRecordAppliedTwice)) {
      applied.outcome = Applied::Outcome::kRepeated;
      return applied;
    }
    found->second.last_sequence = header.sequence;
  }
  const bool is_little_behind =
      header.time < tables_.time && tables_.time - header.time <= kMostTimeKept;
  if (!is_little_behind) tables_.time = header.time;
  bool want_results = results_of == kEveryEpoch || results_of == header.epoch;
  ApplyContext context{.position = position,
                       .now = tables_.time,
                       .broker = header.broker,
                       .known = header.known,
                       .epoch = header.epoch,
                       .want_results = want_results,
                       .changes = changes_};
  for (const Command& command : record.commands) {
    CommandResult result = std::visit(
        [&](const auto& c) -> CommandResult {
          if (header.epoch < 0 && !kBeforeRegistration<std::remove_cvref_t<decltype(c)>>) {
            return {.error = kafka::KafkaError::kStaleBrokerEpoch};
          }
          return metadata::apply(tables_, context, c);
        },
        command);
    if (want_results) applied.results.push_back(std::move(result));
  }
  return applied;
}

Changes State::publish(PublishedState& readers) {
  constexpr Position kUnseen = 16;
  if (planted(Bug::kViewNotPublished) && position() % kUnseen == 0) changes_.partitions.clear();
  for (const Changes::Partition& partition : changes_.partitions) partition.state->publish();
  if (changes_.image) readers.set_image(std::make_shared<const ClusterImage>(tables_.image()));
  for (const auto* ids : {&changes_.groups, &changes_.offsets}) {
    for (const std::string& id : *ids) readers.set_group(id, tables_.groups.find(id));
  }
  return std::exchange(changes_, {});
}

Changes State::publish_all(PublishedState& readers) {
  Changes all;
  all.image = true;
  for (auto& [id, topic] : tables_.topics.topics()) {
    PartitionIndex index = 0;
    for (PartitionState& partition : topic.partitions) {
      partition.publish();
      all.partitions.push_back({{id, index++}, &partition});
    }
  }
  readers.set_image(std::make_shared<const ClusterImage>(tables_.image()));
  readers.clear_groups();
  tables_.groups.groups().for_each(
      [&](const std::string& id, const std::shared_ptr<const GroupImage>& group) {
        readers.set_group(id, group);
        all.groups.push_back(id);
      });
  changes_ = {};
  return all;
}

}  // namespace weir::metadata
