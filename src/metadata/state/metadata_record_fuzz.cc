// Any bytes as an entry of the metadata log: an error, or a record that means the same when it is
// written again.
#include "base/fuzz.h"
#include "metadata/state/record.h"

#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::metadata;
using fuzz::require;

std::string json_of(const Slice& bytes) {
  auto json = record_to_json({.position = 1, .bytes = bytes});
  require(json.has_value());
  return *json;
}

// Nothing where a command can be read but not written: a CommitObject that fails check().
std::optional<Slice> encode(const Record& record) {
  std::vector<std::byte> commands;
  for (const Command& command : record.commands) {
    require(!command_name(command).empty());
    auto encoded = encode_command(command);
    if (!encoded) {
      require(std::holds_alternative<CommitObject>(command));
      return std::nullopt;
    }
    commands.insert(commands.end(), encoded->begin(), encoded->end());
  }
  return encode_record(record.header, record.commands.size(), commands);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Slice bytes = Slice::copy_of(fuzz::input(data, size));
  auto record = decode_record(bytes);
  if (!record) {
    auto code = record.error().code;
    require(code == ErrorCode::kInvalid || code == ErrorCode::kCorrupt);
    return 0;
  }
  auto written = encode(*record);
  if (!written) return 0;
  require(json_of(*written) == json_of(bytes));
  auto again = encode(decode_record(*written).value());
  require(again && as_text(again->bytes()) == as_text(written->bytes()));
  return 0;
}
