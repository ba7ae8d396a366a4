#include "metadata/state/record.h"

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "kafka/protocol/message.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::metadata {
namespace {

constexpr std::uint8_t kFormat = 0;
// The fewest bytes of a command: its number, version and length.
constexpr std::size_t kLeastCommand = 3;

template <typename M>
constexpr bool kGenerated = !std::is_same_v<M, CommitObject>;

// The level of the log from which on a command is written. 0: what it takes to agree on one.
template <typename M>
constexpr std::int16_t since_level() {
  static_assert(M::kMaxVersion == 0, "from which level on is the new version written?");
  constexpr bool kAgrees = std::is_same_v<M, ClusterCreated> || std::is_same_v<M, RegisterBroker> ||
                           std::is_same_v<M, SetFeatureLevel>;
  return kAgrees ? 0 : 1;
}

template <typename M>
Result<Slice> encode_body(const M& command) {
  if constexpr (kGenerated<M>) {
    WEIR_TRY(Chain chain, kafka::encode(command, M::kMaxVersion));
    return chain.flatten();
  } else {
    WEIR_CHECK(check(command));
    ByteWriter out;
    write(out, command);
    return out.to_slice();
  }
}

template <typename M>
Result<Command> decode_body(std::uint32_t version, const Slice& body) {
  if (version > static_cast<std::uint32_t>(M::kMaxVersion)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("version {} of a command was written by a newer Weir", version));
  }
  if constexpr (kGenerated<M>) {
    auto command = kafka::decode<M>(body, static_cast<std::int16_t>(version));
    if (!command) return fail(ErrorCode::kCorrupt, command.error().message);
    return Command(std::move(*command));
  } else {
    ByteReader in(body.bytes());
    WEIR_TRY(CommitObject command, read_commit_object(in));
    return Command(std::move(command));
  }
}

using DecodeBody = Result<Command> (*)(std::uint32_t version, const Slice& body);

// One decoder per alternative of Command, found by its number.
template <typename... M>
DecodeBody find_decoder(std::uint32_t id, std::variant<M...>*) {
  DecodeBody found = nullptr;
  ((static_cast<std::uint32_t>(M::kId) == id ? void(found = &decode_body<M>) : void()), ...);
  return found;
}

Result<Command> decode_command(ByteReader& in, const Slice& bytes) {
  std::uint32_t id = in.uvarint();
  std::uint32_t version = in.uvarint();
  std::uint32_t size = in.uvarint();
  std::size_t at = in.position();
  in.skip(size);
  if (!in.ok()) return fail(ErrorCode::kCorrupt, "a command is cut short");
  DecodeBody decode = find_decoder(id, static_cast<Command*>(nullptr));
  if (decode == nullptr) {
    return fail(ErrorCode::kInvalid,
                fmt::format("a command of type {} was written by a newer Weir", id));
  }
  return decode(version, bytes.sub(at, size));
}

RecordHeader read_header(ByteReader& in) {
  RecordHeader header;
  header.broker = in.i32();
  header.epoch = in.i64();
  header.sequence = in.i64();
  header.time = in.i64();
  header.known = in.i64();
  header.known_hash = in.u64();
  return header;
}

}  // namespace

Result<std::vector<std::byte>> encode_command(const Command& command, std::int16_t level) {
  return std::visit(
      [level](const auto& c) -> Result<std::vector<std::byte>> {
        using M = std::remove_cvref_t<decltype(c)>;
        if (level < since_level<M>()) {
          return fail(ErrorCode::kUnavailable,
                      fmt::format("the metadata log is at level {}; this takes level {}, which all "
                                  "brokers must know first",
                                  level, since_level<M>()));
        }
        WEIR_TRY(Slice body, encode_body(c));
        ByteWriter out;
        out.uvarint(static_cast<std::uint32_t>(M::kId));
        out.uvarint(static_cast<std::uint32_t>(M::kMaxVersion));
        out.uvarint(static_cast<std::uint32_t>(body.size()));
        out.bytes(body.bytes());
        return out.release();
      },
      command);
}

Slice encode_record(const RecordHeader& header, std::size_t commands, Bytes encoded_commands) {
  ByteWriter out;
  out.reserve(kMaxRecordHeader + encoded_commands.size());
  out.u8(kFormat);
  out.i32(header.broker);
  out.i64(header.epoch);
  out.i64(header.sequence);
  out.i64(header.time);
  out.i64(header.known);
  out.u64(header.known_hash);
  out.uvarint(static_cast<std::uint32_t>(commands));
  out.bytes(encoded_commands);
  return out.to_slice();
}

Result<Record> decode_record(const Slice& bytes) {
  ByteReader in(bytes.bytes());
  if (std::uint8_t format = in.u8(); in.ok() && format > kFormat) {
    return fail(ErrorCode::kInvalid,
                fmt::format("a record of format {} was written by a newer Weir", format));
  }
  Record record{.header = read_header(in)};
  std::uint32_t count = in.uvarint();
  if (!in.ok() || count > in.remaining() / kLeastCommand) {
    return fail(ErrorCode::kCorrupt, "a record is cut short");
  }
  // Not reserved: a command in memory is far larger than the fewest bytes that claim to be one.
  for (std::uint32_t i = 0; i < count; ++i) {
    WEIR_TRY(Command command, decode_command(in, bytes));
    record.commands.push_back(std::move(command));
  }
  if (!in.done()) return fail(ErrorCode::kCorrupt, "a record has bytes behind its commands");
  return record;
}

bool counts_once(const Slice& entry) {
  ByteReader in(entry.bytes());
  const std::uint8_t format = in.u8();
  const RecordHeader header = read_header(in);
  if (!in.ok() || format != kFormat) return false;
  if (header.epoch >= 0) return true;
  const auto record = decode_record(entry);
  return record && std::ranges::all_of(record->commands, [](const Command& command) {
           return std::holds_alternative<RegisterBroker>(command);
         });
}

std::string_view command_name(const Command& command) {
  return std::visit(
      [](const auto& c) -> std::string_view {
        using M = std::remove_cvref_t<decltype(c)>;
        if constexpr (kGenerated<M>) {
          return M::kName;
        } else {
          return "CommitObject";
        }
      },
      command);
}

Result<std::string> record_to_json(const LogEntry& entry) {
  WEIR_TRY(Record record, decode_record(entry.bytes));
  kafka::JsonWriter out;
  auto field = [&](const char* name, std::int64_t value) {
    out.key(name);
    out.number(value);
  };
  out.begin_object();
  field("position", entry.position);
  field("broker", record.header.broker);
  field("epoch", record.header.epoch);
  field("sequence", record.header.sequence);
  field("time", record.header.time);
  field("known", record.header.known);
  out.key("known_hash");
  out.string(fmt::format("{:016x}", record.header.known_hash));
  out.key("commands");
  out.begin_array();
  for (const Command& command : record.commands) {
    out.begin_object();
    out.key("type");
    out.string(command_name(command));
    out.key("command");
    std::visit(
        [&](const auto& c) {
          using M = std::remove_cvref_t<decltype(c)>;
          if constexpr (kGenerated<M>) {
            write_json(out, c, M::kMaxVersion);
          } else {
            write_json(out, c);
          }
        },
        command);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return out.release();
}

}  // namespace weir::metadata
