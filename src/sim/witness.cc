#include "sim/witness.h"

#include "fetch/batch_assembly.h"
#include "storage/wal_object.h"

#include <fmt/format.h>

namespace weir::sim {
namespace {

storage::ObjectKey key_of(const metadata::ObjectId& id) {
  return storage::wal_object_key(id.epoch, id.sequence);
}

std::int64_t milliseconds_of(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

// Why the extent's bytes are not what they should be; empty: they are.
std::string read_through(const metadata::Extent& extent, const Result<Slice>& bytes) {
  if (!bytes) return bytes.error().to_string();
  const Status whole = fetch::check_extent(extent, Chain(*bytes));
  return whole ? "" : whole.error().to_string();
}

}  // namespace

Task<void> Witness::entry(metadata::LogEntry entry) {
  if (!looks_) co_return;
  auto record = metadata::decode_record(entry.bytes);
  auto applied = state_.apply(entry);
  if (!record || !applied) {
    const std::string error = (record ? applied.error() : record.error()).to_string();
    history_->tell([&](Checker& checker) { checker.on_stuck("log", error); });
    looks_ = false;
    co_return;
  }
  // A log that went back has other entries from here on.
  seen_.resize(static_cast<std::size_t>(state_.position() - 1));
  seen_.push_back(world_.now());
  entries_.push_back(std::move(entry));
  history_->tell([&](Checker& checker) { checker.on_state(state_.position(), state_.hash()); });
  tell_of_entry(*record, *applied);
  see_groups(*record, *applied);
  see_epochs(*record, *applied);
  if (applied->outcome != metadata::Applied::Outcome::kApplied) co_return;
  tell_ends();
  for (std::size_t i = 0; i < record->commands.size(); ++i) {
    const auto* commit = std::get_if<metadata::CommitObject>(&record->commands[i]);
    const bool stands = applied->results[i].error == kafka::KafkaError::kNone;
    if (commit != nullptr && stands) co_await see_commit(*commit);
  }
}

void Witness::see_groups(const metadata::Record& record, const metadata::Applied& applied) {
  if (applied.outcome != metadata::Applied::Outcome::kApplied) return;
  for (std::size_t i = 0; i < record.commands.size(); ++i)
    groups_.see(record.header, record.commands[i], applied.results[i]);
}

void Witness::see_epochs(const metadata::Record& record, const metadata::Applied& applied) {
  if (applied.outcome != metadata::Applied::Outcome::kApplied) return;
  const auto& header = record.header;
  if (over_.contains(header.epoch)) {
    history_->tell([&](Checker& checker) {
      checker.on_fenced_entry(header.broker, header.epoch, state_.position());
    });
  }
  for (std::size_t i = 0; i < record.commands.size(); ++i) {
    if (applied.results[i].error != kafka::KafkaError::kNone) continue;
    if (const auto* fence = std::get_if<metadata::FenceBroker>(&record.commands[i])) {
      over_.insert(fence->epoch);
    } else if (const auto* entered = std::get_if<metadata::RegisterBroker>(&record.commands[i])) {
      const BrokerEpoch epoch = applied.results[i].value;
      const BrokerEpoch before =
          std::exchange(epochs_.try_emplace(entered->broker_id, epoch).first->second, epoch);
      if (before != epoch) over_.insert(before);
    }
  }
}

void Witness::tell_of_entry(const metadata::Record& record, const metadata::Applied& applied) {
  using Outcome = metadata::Applied::Outcome;
  const auto& header = record.header;
  const char* outcome = applied.outcome == Outcome::kApplied    ? "applied"
                        : applied.outcome == Outcome::kRepeated ? "repeated"
                        : applied.outcome == Outcome::kFenced   ? "fenced"
                                                                : "of another history";
  for (const metadata::Command& command : record.commands) {
    auto text = [&] {
      return fmt::format("entry {} of broker {}, epoch {}, sequence {}: {} ({})", state_.position(),
                         header.broker, header.epoch, header.sequence,
                         metadata::command_name(command), outcome);
    };
    if (const auto* commit = std::get_if<metadata::CommitObject>(&command)) {
      world_.tell(key_of(commit->object), text);
      for (const auto& run : commit->runs) tell_of(run.topic, run.partition, text);
    } else if (const auto* offsets = std::get_if<metadata::OffsetCommit>(&command)) {
      world_.tell(offsets->group, text);
    } else if (const auto* claim = std::get_if<metadata::GroupClaim>(&command)) {
      world_.tell(claim->group, text);
    } else if (const auto* group = std::get_if<metadata::GroupCommit>(&command)) {
      world_.tell(group->group, text);
    } else if (const auto* deleted = std::get_if<metadata::OffsetDelete>(&command)) {
      world_.tell(deleted->group, text);
    } else if (const auto* gone = std::get_if<metadata::GroupDelete>(&command)) {
      world_.tell(gone->group, text);
    } else if (const auto* trims = std::get_if<metadata::TrimLogs>(&command)) {
      for (const auto& trim : trims->trims) tell_of(trim.topic, trim.partition, text);
    } else if (std::holds_alternative<metadata::RegisterBroker>(command) ||
               std::holds_alternative<metadata::FenceBroker>(command)) {
      world_.tell("", text);
    }
  }
}

void Witness::tell_of(const TopicId& topic, PartitionIndex partition,
                      const std::function<std::string()>& text) {
  auto found = state_.tables().topics.topics().find(topic);
  if (found == state_.tables().topics.topics().end()) return;
  world_.tell(fmt::format("{}/{}", found->second.image->name, partition), text);
}

// Of the topics that clients check.
void Witness::tell_ends() {
  for (std::int32_t number : {kOrders, kEvents}) {
    const metadata::TopicState* found = topic(number);
    const std::size_t partitions = found == nullptr ? 0 : found->partitions.size();
    for (std::size_t i = 0; i < partitions; ++i) {
      const Where where{number, static_cast<PartitionIndex>(i)};
      history_->tell([&](Checker& checker) {
        checker.on_log_end(where, world_.now(), found->partitions[i].high_watermark());
      });
    }
  }
}

Task<void> Witness::see_commit(const metadata::CommitObject& command) {
  const storage::ObjectKey key = key_of(command.object);
  const bool is_stored = (co_await store_.head(key)).has_value();
  objects_[key].was_committed = true;
  history_->tell([&](Checker& checker) { checker.on_object_committed(key, is_stored); });
}

void Witness::stored(const storage::ObjectKey& key, std::uint64_t process) {
  if (!storage::parse_wal_object_key(key)) return;
  Object& object = objects_[key];
  object.stored = world_.now();
  object.writer = process;
  world_.tell(key, [&] { return fmt::format("process {} stored {}", process, key); });
}

Task<void> Witness::removing(std::vector<storage::ObjectKey> keys, std::uint64_t process) {
  for (const storage::ObjectKey& key : keys) {
    auto name = storage::parse_wal_object_key(key);
    if (!looks_ || !name || !co_await store_.head(key)) continue;
    const Object& object = objects_[key];
    const auto* known = state_.tables().objects.objects().find(
        metadata::ObjectId{.epoch = name->broker_epoch, .sequence = name->sequence});
    // No clock is faster by a tenth.
    const auto unneeded = known != nullptr && known->live_extents == 0
                              ? std::optional(unneeded_for(*known))
                              : std::nullopt;
    const Removal removal{.key = key,
                          .is_referenced = known != nullptr && known->live_extents > 0,
                          .is_foreign = object.writer != process && !object.was_committed,
                          .age = world_.now() - object.stored,
                          .grace = weather_.had_far_clocks
                                       ? Duration::zero()
                                       : options_.orphan_grace - options_.clock_error,
                          .unneeded_for = unneeded,
                          .delete_grace = options_.delete_grace / 10 * 9};
    world_.tell(key, [&] { return fmt::format("process {} removes {}", process, key); });
    history_->tell([&](Checker& checker) { checker.on_object_removed(removal); });
    ++history_->deleted;
  }
}

const metadata::TopicState* Witness::topic(std::int32_t number) const {
  for (const auto& [id, topic] : state_.tables().topics.topics()) {
    if (topic.image->name == topic_name(number)) return &topic;
  }
  return nullptr;
}

Offset Witness::high_watermark(const Where& where) const {
  const metadata::TopicState* found = topic(where.topic);
  const auto index = static_cast<std::size_t>(where.partition);
  if (found == nullptr || index >= found->partitions.size()) return kNoOffset;
  return found->partitions[index].high_watermark();
}

Offset Witness::committed(const std::string& group, const Where& where) const {
  auto image = state_.tables().groups.find(group);
  const metadata::TopicState* found = topic(where.topic);
  if (!image || found == nullptr) return kNoOffset;
  const auto* offset = image->offsets.find(TopicPartition{found->image->id, where.partition});
  return offset == nullptr ? kNoOffset : offset->offset;
}

void Witness::begin_anew(metadata::Position tail, History& history) {
  entries_.resize(static_cast<std::size_t>(tail));
  state_ = {};
  groups_ = GroupWitness(history, options_.offsets_retention);
  epochs_.clear();
  over_.clear();
  history_ = &history;
  for (const metadata::LogEntry& entry : entries_) {
    auto record = metadata::decode_record(entry.bytes);
    auto applied = state_.apply(entry);
    if (!record || !applied) continue;
    see_groups(*record, *applied);
    see_epochs(*record, *applied);
  }
  tell_ends();
  was_restored_ = true;
  looks_ = true;
}

void Witness::diverged(BrokerId broker, const Error& why) {
  world_.tell("", [&] { return fmt::format("broker {} fails: {}", broker, why.to_string()); });
  history_->tell(
      [&](Checker& checker) { checker.on_divergence(broker, why.to_string(), was_restored_); });
}

void Witness::answered_from_lost_history(BrokerId broker) {
  history_->tell([&](Checker& checker) { checker.on_answer_of_lost_history(broker); });
}

Task<void> Witness::judge_end() {
  co_await read_extents();
  co_await look_for_left_objects();
  groups_.judge_end(state_.tables().time - milliseconds_of(options_.clock_error));
}

Task<void> Witness::read_extents() {
  std::map<metadata::ObjectId, std::uint64_t> references;
  std::map<TopicPartition, const metadata::PartitionState*> partitions;
  for (const auto& [id, topic] : state_.tables().topics.topics()) {
    for (std::size_t i = 0; i < topic.partitions.size(); ++i)
      partitions[{id, static_cast<PartitionIndex>(i)}] = &topic.partitions[i];
  }
  for (const auto& [name, partition] : partitions) {
    const metadata::ExtentsView& extents = partition->extents();
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const metadata::Extent extent = extents[i];
      ++references[extent.object];
      const storage::ObjectKey key = key_of(extent.object);
      auto bytes =
          co_await store_.get_range(key, {.from = extent.byte_offset, .count = extent.byte_length});
      const std::string error = read_through(extent, bytes);
      history_->tell([&](Checker& checker) { checker.on_extent(key, error); });
    }
  }
  state_.tables().objects.objects().for_each(
      [&](const metadata::ObjectId& id, const metadata::ObjectState& object) {
        history_->tell([&](Checker& checker) {
          checker.on_references(key_of(id), object.live_extents, references[id]);
        });
      });
}

Duration Witness::unneeded_for(const metadata::ObjectState& object) const {
  if (object.deletable_since == metadata::kLive) return Duration::max();
  return world_.now() - seen_.at(static_cast<std::size_t>(object.deletable_since - 1));
}

Task<void> Witness::look_for_left_objects() {
  constexpr Duration kPatience = std::chrono::seconds(30);
  const auto& tables = state_.tables();
  std::string after;
  for (bool more = true; more;) {
    auto page = co_await store_.list("data/", after, storage::kMaxListLimit);
    if (!page) co_return;
    more = page->more && !page->objects.empty();
    if (more) after = page->objects.back().key;
    for (const storage::ObjectInfo& info : page->objects) {
      auto name = storage::parse_wal_object_key(info.key);
      if (!name) continue;
      const metadata::ObjectId id{.epoch = name->broker_epoch, .sequence = name->sequence};
      const auto* known = tables.objects.objects().find(id);
      const bool is_due =
          known != nullptr && known->live_extents == 0 &&
          unneeded_for(*known) > options_.delete_grace + kPatience + 2 * options_.clock_error;
      const bool is_orphan = known == nullptr &&
                             !metadata::orphans_among(tables, state_.position(), {id}).empty() &&
                             world_.now() - objects_[info.key].stored >
                                 options_.orphan_grace + kPatience + options_.clock_error;
      if (!is_due && !is_orphan) continue;
      const char* why =
          is_due ? "its last extent went long ago" : "an orphan of an epoch that is over";
      history_->tell([&](Checker& checker) { checker.on_left_object(info.key, why); });
    }
  }
}

}  // namespace weir::sim
