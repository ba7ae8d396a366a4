#include "base/byte_writer.h"
#include "base/crc32c.h"
#include "kafka/records/record_batch.h"
#include "storage/object_trailer.h"
#include "storage/wal_layout.h"
#include "storage/wal_object.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace weir::storage {
namespace {

using namespace wal_layout;

std::vector<std::uint32_t> order_by_partition(std::span<const WalBatch> batches) {
  std::vector<std::uint32_t> order(batches.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(batches[a].partition, a) < std::tie(batches[b].partition, b);
  });
  return order;
}

WalBatchInfo info_of(const kafka::RecordBatchView& batch, bool log_append_time) {
  WalBatchInfo info;
  info.length = static_cast<std::uint32_t>(batch.size());
  info.attributes = batch.attributes();
  if (log_append_time) info.attributes |= kafka::kLogAppendTimeBit;
  info.last_offset_delta = batch.last_offset_delta();
  info.max_timestamp = batch.max_timestamp();
  info.producer_id = batch.producer_id();
  info.producer_epoch = batch.producer_epoch();
  info.base_sequence = batch.base_sequence();
  return info;
}

// The CRC of a run whose CRC was `before`, with the batch behind it. The batch's own CRC covers
// what follows the CRC field: only the bytes up to there are read.
std::uint32_t crc_with(std::uint32_t before, const kafka::RecordBatchView& batch) {
  constexpr std::size_t kCovered = kafka::batch_layout::kAttributes;
  std::uint32_t prefix = crc32c(batch.bytes().first(kCovered), before);
  return crc32c_shift(prefix, batch.size() - kCovered) ^ batch.crc();
}

void write_index(ByteWriter& out, const WalIndex& index) {
  for (const WalRun& run : index.runs) {
    out.uuid(run.partition.topic);
    out.i32(run.partition.partition);
    out.u32(run.batch_count);
    out.u32(run.byte_offset);
    out.u32(run.byte_length);
    out.u32(run.crc);
    for (const WalBatchInfo& batch : index.batches_of(run)) {
      out.u32(batch.length);
      out.u16(batch.attributes);
      out.i32(batch.last_offset_delta);
      out.i64(batch.max_timestamp);
      out.i64(batch.producer_id);
      out.i16(batch.producer_epoch);
      out.i32(batch.base_sequence);
    }
  }
}

Slice index_and_footer(const WalObjectId& id, const WalIndex& index) {
  ByteWriter out;
  std::size_t index_size =
      index.runs.size() * kRunEntrySize + index.batches.size() * kBatchEntrySize;
  out.reserve(index_size + kWalFooterSize);
  write_index(out, index);
  std::uint32_t index_crc = crc32c(out.view());
  out.uuid(id.cluster);
  out.i64(id.broker_epoch);
  out.i64(id.sequence);
  out.u32(static_cast<std::uint32_t>(index_size));
  out.u32(index_crc);
  out.u8(static_cast<std::uint8_t>(ObjectKind::kWal));
  out.u8(kWalFormatVersion);
  out.u16(0);
  out.u32(crc32c(out.view().subspan(index_size)));
  out.text(kObjectMagic);
  return out.to_slice();
}

}  // namespace

WalObject build_wal_object(const WalObjectId& id, std::span<const WalBatch> batches) {
  WalObject object;
  object.order = order_by_partition(batches);
  object.index.batches.reserve(batches.size());
  for (std::uint32_t input : object.order) {
    const WalBatch& batch = batches[input];
    std::vector<WalRun>& runs = object.index.runs;
    if (runs.empty() || runs.back().partition != batch.partition) {
      WalRun& run = runs.emplace_back();
      run.partition = batch.partition;
      run.byte_offset = static_cast<std::uint32_t>(object.body.size());
      run.first_batch = static_cast<std::uint32_t>(object.index.batches.size());
    }
    kafka::RecordBatchView view(batch.bytes.bytes());
    WalRun& run = runs.back();
    run.crc = crc_with(run.crc, view);
    run.byte_length += static_cast<std::uint32_t>(view.size());
    ++run.batch_count;
    object.index.batches.push_back(info_of(view, batch.log_append_time));
    object.body.append(batch.bytes);
  }
  object.body.append(index_and_footer(id, object.index));
  return object;
}

}  // namespace weir::storage
