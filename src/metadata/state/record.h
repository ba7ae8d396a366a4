// An entry of the metadata log: who wrote it and when, and its commands.
// docs/formats/metadata-log.md describes the bytes. Values and pure functions.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "metadata/log/metadata_log.h"
#include "metadata/state/commands.h"
#include "metadata/state/metadata_level.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::metadata {

struct RecordHeader {
  BrokerId broker = -1;
  BrokerEpoch epoch =
      -1;  // -1: not registered yet; such a record may only create the cluster and register
  std::int64_t sequence = 0;     // grows by one with each record of the epoch
  TimestampMs time = 0;          // of the writer's clock
  Position known = 0;            // what the writer had applied,
  std::uint64_t known_hash = 0;  // and the hash of the chain there
};

// What a record takes beside its commands, at most.
constexpr std::size_t kMaxRecordHeader = 64;

struct Record {
  RecordHeader header;
  std::vector<Command> commands;
};

// A command with its frame, as it stands in a record of a log of that level. kInvalid: a field
// cannot be encoded, or a CommitObject fails check(). kUnavailable: brokers of the cluster may not
// know the command yet.
[[nodiscard]] Result<std::vector<std::byte>> encode_command(const Command& command,
                                                            std::int16_t level = kMetadataLevel);
[[nodiscard]] Slice encode_record(const RecordHeader& header, std::size_t commands,
                                  Bytes encoded_commands);

// Errors: kInvalid for a record, command or version that a newer Weir wrote; kCorrupt for anything
// else that is wrong.
[[nodiscard]] Result<Record> decode_record(const Slice& bytes);

// Whether the entry has an effect once, however often it comes to stand in the log: that of a
// registered broker, by (epoch, sequence), and a registration, by what its writer knew. False for
// what begins a log, and for what this Weir does not understand.
[[nodiscard]] bool counts_once(const Slice& entry);

// {"position": …, "broker": …, "commands": [{"type": "TrimLogs", …}]}
[[nodiscard]] Result<std::string> record_to_json(const LogEntry& entry);

[[nodiscard]] std::string_view command_name(const Command& command);

}  // namespace weir::metadata
