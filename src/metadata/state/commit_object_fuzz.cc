// Any bytes as a CommitObject: an error, or a command that is no larger in memory than its bytes
// allow and, when it passes its check, the same when it is written again.
#include "base/fuzz.h"
#include "metadata/state/commit_object.h"

namespace {

using namespace weir;
using namespace weir::metadata;
using fuzz::require;

// The fewest bytes of a run and of a batch.
constexpr std::size_t kLeastRun = 2;
constexpr std::size_t kLeastBatch = 4;

void check_command(const CommitObject& command) {
  std::uint64_t batches = 0;
  for (const ObjectRun& run : command.runs) {
    require(run.batch_count > 0 && run.partition >= 0 && run.byte_offset < command.object_size);
    batches += run.batch_count;
  }
  require(!command.runs.empty() && batches == command.batches.size());
  ByteWriter out;
  write(out, command);
  ByteReader in(out.view());
  auto again = read_commit_object(in);
  require(again && *again == command);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ByteReader in(fuzz::input(data, size));
  auto command = read_commit_object(in);
  if (!command) return 0;
  require(command->runs.size() * kLeastRun + command->batches.size() * kLeastBatch <= size);
  require(command->runs.capacity() <= size && command->batches.capacity() <= size);
  if (check(*command)) check_command(*command);
  return 0;
}
