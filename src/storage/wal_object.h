// WAL objects: what a broker writes at each flush. The batches of many partitions as producers sent
// them, grouped by partition, then an index that names every run and batch, then a footer;
// docs/formats/wal-object.md has the bytes. The object explains itself: who wrote it, what is in
// it, and whether it is whole.
//
// Pure functions and values. Parsers trust nothing: kCorrupt says what is wrong where.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/units.h"
#include "storage/object_store.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::storage {

constexpr std::size_t kWalFooterSize = 56;
constexpr std::uint8_t kWalFormatVersion = 1;

// Names a WAL object: the cluster, the registration of the broker that wrote it, and that broker's
// counter.
struct WalObjectId {
  Uuid cluster;
  BrokerEpoch broker_epoch = -1;
  std::int64_t sequence = 0;
  bool operator==(const WalObjectId&) const = default;
};

// A batch to be stored.
struct WalBatch {
  TopicPartition partition;
  Slice bytes;  // one batch of record format 2, validated
  // Its records get the time of the commit: the index says so, the batch stays as it came.
  bool log_append_time = false;
};

// What the index says of one batch; the fields of its header that a commit needs.
struct WalBatchInfo {
  std::uint32_t length = 0;      // bytes, with the header
  std::uint16_t attributes = 0;  // with kLogAppendTimeBit where WalBatch::log_append_time is set
  std::int32_t last_offset_delta = 0;  // records - 1
  TimestampMs max_timestamp = kNoTimestamp;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = kNoProducerEpoch;
  std::int32_t base_sequence = -1;
  bool operator==(const WalBatchInfo&) const = default;
};

// The batches of one partition, which lie one after the other.
struct WalRun {
  TopicPartition partition;
  std::uint32_t byte_offset = 0;  // in the object
  std::uint32_t byte_length = 0;
  std::uint32_t crc = 0;          // CRC-32C of its bytes
  std::uint32_t first_batch = 0;  // in WalIndex::batches
  std::uint32_t batch_count = 0;  // at least 1
  bool operator==(const WalRun&) const = default;
};

struct WalIndex {
  std::vector<WalRun>
      runs;  // in order of topic id and partition, each once; they fill the object up to the index
  std::vector<WalBatchInfo> batches;

  [[nodiscard]] std::span<const WalBatchInfo> batches_of(const WalRun& run) const {
    return std::span(batches).subspan(run.first_batch, run.batch_count);
  }
};

struct WalObject {
  Chain body;  // the batches' own slices, and one more for index and footer
  WalIndex index;
  std::vector<std::uint32_t> order;  // order[n]: which of the batches given became index.batches[n]
};

// Groups the batches by partition; those of one partition keep their order. Their payload is
// neither copied nor read: the CRC of a run is put together from those that the batches carry,
// which must be right. Less than 4 GiB in all.
[[nodiscard]] WalObject build_wal_object(const WalObjectId& id, std::span<const WalBatch> batches);

struct WalFooter {
  WalObjectId id;
  std::uint32_t index_length = 0;
  std::uint32_t index_crc = 0;
};

// `tail` is the end of the object, at least its last kWalFooterSize bytes.
[[nodiscard]] Result<WalFooter> parse_wal_footer(Bytes tail, ByteCount object_size);
// `index` is the object's footer.index_length bytes before the footer.
[[nodiscard]] Result<WalIndex> parse_wal_index(Bytes index, const WalFooter& footer,
                                               ByteCount object_size);

struct WalContents {
  WalFooter footer;
  WalIndex index;
};

// Footer and index of a whole object. The runs' CRCs are not checked.
[[nodiscard]] Result<WalContents> parse_wal_object(Bytes object);

// kCorrupt unless the bytes of a run have its CRC.
[[nodiscard]] Status check_wal_run(Bytes run_bytes, const WalRun& run);

// data/<hash>/<broker epoch>/<sequence>. The hash spreads the objects over the key space; it is the
// same for kWalObjectsPerFolder objects, so that a file store need not make a folder for each.
constexpr std::int64_t kWalObjectsPerFolder = 1024;
[[nodiscard]] ObjectKey wal_object_key(BrokerEpoch broker_epoch, std::int64_t sequence);

struct WalObjectName {
  BrokerEpoch broker_epoch = -1;
  std::int64_t sequence = 0;
};
// Nothing: the key is not exactly one that wal_object_key makes.
[[nodiscard]] std::optional<WalObjectName> parse_wal_object_key(std::string_view key);

}  // namespace weir::storage
