#include "kafka/protocol/messages/list_offsets.h"
#include "kafka/records/compression.h"
#include "kafka/records/record.h"
#include "kafka/records/record_batch.h"
#include "sim/clients.h"

#include <fmt/format.h>

namespace weir::sim {

using kafka::KafkaError;

bool Reader::at_end(const std::vector<Where>& partitions) {
  return std::ranges::all_of(partitions, [this](const Where& where) {
    const Position& position = positions_[where];
    return position.high_watermark >= 0 && position.next >= position.high_watermark;
  });
}

Task<bool> Reader::fetch(Link& link, std::vector<Where> partitions, std::int32_t partition_bytes,
                         std::int32_t wait_ms) {
  kafka::FetchRequest request;
  request.max_wait_ms = wait_ms;
  request.min_bytes = 1;
  request.max_bytes = 1 << 20;
  for (const Where& where : partitions) {
    if (request.topics.empty() || request.topics.back().topic != topic_name(where.topic))
      request.topics.emplace_back().topic = topic_name(where.topic);
    request.topics.back().partitions.push_back({.partition = where.partition,
                                                .fetch_offset = positions_[where].next,
                                                .partition_max_bytes = partition_bytes});
  }
  if (has_sessions_) session_.shorten(request, link.broker());
  const Moment asked = parts_.history.next_moment();
  auto response = co_await link.call<kafka::FetchResponse>(request, 12);
  if (!response) {
    session_.on_no_answer();
    co_return false;
  }
  session_.on_answer(*response);
  if (response->error_code != KafkaError::kNone) co_return false;
  // In a session: of nothing is there anything new.
  if (response->responses.empty()) co_return has_sessions_;
  const bool good = take_all(link, asked, partitions, *response);
  for (const Where& where : std::exchange(lost_, {})) co_await seek_earliest(link, where);
  co_return good;
}

bool Reader::take_all(Link& link, Moment asked, const std::vector<Where>& partitions,
                      const kafka::FetchResponse& response) {
  const MonoTime answered = link.answered();
  bool good = true;
  for (const auto& topic : response.responses) {
    for (const auto& partition : topic.partitions) {
      const Where where{topic_number(topic.topic), partition.partition_index};
      if (std::ranges::find(partitions, where) == partitions.end()) {
        parts_.history.tell(
            [&](Checker& checker) { checker.on_unasked_partition(where, link.broker()); });
        continue;
      }
      good &= take(link, asked, answered, where.topic, partition);
    }
  }
  return good;
}

// As a consumer with auto.offset.reset=earliest.
Task<void> Reader::seek_earliest(Link& link, Where where) {
  constexpr TimestampMs kEarliest = -2;
  auto found = co_await list_offset(link, where, kEarliest);
  if (found) positions_[where].next = std::max(positions_[where].next, *found);
}

Task<std::optional<Offset>> list_offset(Link& link, Where where, TimestampMs timestamp) {
  kafka::ListOffsetsRequest request;
  request.replica_id = -1;
  auto& topic = request.topics.emplace_back();
  topic.name = topic_name(where.topic);
  topic.partitions.push_back({.partition_index = where.partition, .timestamp = timestamp});
  auto response = co_await link.call<kafka::ListOffsetsResponse>(request, 6);
  if (!response) co_return std::nullopt;
  const auto& answer = response->topics.at(0).partitions.at(0);
  if (answer.error_code != KafkaError::kNone) co_return std::nullopt;
  co_return answer.offset;
}

bool Reader::take(Link& link, Moment asked, MonoTime answered, std::int32_t topic,
                  const kafka::FetchResponse::Partition& partition) {
  const Where where{topic, partition.partition_index};
  Position& position = positions_[where];
  if (partition.error_code != KafkaError::kNone) {
    parts_.world.tell(to_string(where), [&] {
      return fmt::format("fetch of {} at {} by broker {}: {}", to_string(where), position.next,
                         link.broker(), kafka::to_string(partition.error_code));
    });
  }
  if (partition.error_code == KafkaError::kOffsetOutOfRange) {
    parts_.history.tell([&](Checker& checker) { checker.on_out_of_range(where, position.next); });
    lost_.push_back(where);
    return false;
  }
  if (partition.error_code == KafkaError::kCorruptMessage) {
    parts_.history.tell([&](Checker& checker) {
      checker.on_damage_told(where, position.next, parts_.weather.had_damage);
    });
  }
  if (partition.error_code == KafkaError::kKafkaStorageError) {
    parts_.history.tell([&](Checker& checker) {
      checker.on_damage_told(where, position.next, parts_.weather.had_faults);
    });
  }
  if (partition.error_code != KafkaError::kNone) return false;
  position.high_watermark = std::max(position.high_watermark, partition.high_watermark);
  const Bounds bounds{.process = link.process(),
                      .where = where,
                      .log_start = partition.log_start_offset,
                      .high_watermark = partition.high_watermark,
                      .asked = asked,
                      .at = parts_.history.next_moment()};
  parts_.history.tell([&](Checker& checker) { checker.on_bounds(bounds); });
  position.next = std::max(position.next, partition.log_start_offset);
  if (partition.records) take_records(where, partition.records->flatten());
  const Offset end =
      std::max({partition.high_watermark, partition.last_stable_offset, position.next});
  parts_.history.tell([&](Checker& checker) { checker.on_end_told(where, answered, end); });
  return true;
}

void Reader::take_records(const Where& where, const Slice& records) {
  Position& position = positions_[where];
  for (Bytes rest = records.bytes(); !rest.empty();) {
    auto batch = kafka::RecordBatchView::first_of(rest);
    auto plain = batch && batch->crc_matches()
                     ? kafka::decompress(batch->codec(), Slice::copy_of(batch->records()), 1_MiB)
                     : Result<Slice>(fail(ErrorCode::kCorrupt, "no batch"));
    if (!plain) {
      parts_.history.tell([&](Checker& checker) { checker.on_broken_batch(where, position.next); });
      return;
    }
    kafka::RecordReader reader(plain->bytes());
    while (auto record = reader.next()) {
      const Offset offset = batch->base_offset() + record->offset_delta;
      if (offset < position.next) continue;
      if (offset != position.next) {
        parts_.history.tell(
            [&](Checker& checker) { checker.on_gap(where, position.next, offset); });
      }
      position.next = offset + 1;
      const Seen seen{.where = where,
                      .offset = offset,
                      .value = std::string(as_text(record->value.value_or(Bytes()))),
                      .at = parts_.history.next_moment()};
      parts_.history.tell([&](Checker& checker) { checker.on_read(seen); });
      ++parts_.history.read;
    }
    const Offset end = batch->base_offset() + batch->last_offset_delta() + 1;
    if (position.next < end) {
      parts_.history.tell([&](Checker& checker) { checker.on_gap(where, position.next, end); });
      position.next = end;
    }
    rest = rest.subspan(batch->size());
  }
}

}  // namespace weir::sim
