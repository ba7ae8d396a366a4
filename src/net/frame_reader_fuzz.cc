// Any bytes as what a peer sends: the frames that FrameReader cuts out of it are those that plain
// arithmetic gives, however the bytes arrive, and what it holds stays within its budget. The first
// byte says how many bytes arrive at a time.
#include "base/fuzz.h"
#include "net/frame_reader.h"
#include "runtime/test_loop.h"

#include <vector>

namespace {

using namespace weir;
using namespace weir::net;
using fuzz::require;

constexpr ByteCount kSizeMax = 1 << 20;
constexpr ByteCount kBudget = 1 << 16;

class Chopped final : public Stream {
 public:
  Chopped(Bytes bytes, std::size_t step) : rest_(bytes), step_(step) {}

  Task<Result<std::size_t>> read_some(MutableBytes into, MutableBytes spill) override {
    std::size_t count = std::min({step_, rest_.size(), into.size() + spill.size()});
    std::size_t first = std::min(count, into.size());
    std::copy_n(rest_.begin(), first, into.begin());
    std::copy_n(rest_.begin() + static_cast<std::ptrdiff_t>(first), count - first, spill.begin());
    rest_ = rest_.subspan(count);
    co_return count;
  }
  Task<Result<std::size_t>> write_some(std::span<const Bytes>) override { co_return 0; }
  void cancel_read() override {}
  void shutdown_send() override {}
  void close() override {}
  [[nodiscard]] const std::string& peer() const override { return peer_; }
  [[nodiscard]] std::uint16_t local_port() const override { return 0; }

 private:
  Bytes rest_;
  const std::size_t step_;
  const std::string peer_ = "fuzz";
};

// The next whole frame of an honest peer.
std::optional<Bytes> expected(ByteReader& in) {
  std::int32_t size = in.i32();
  if (!in.ok() || size <= 0 || static_cast<ByteCount>(size) > kSizeMax) return std::nullopt;
  Bytes frame = in.take(static_cast<std::size_t>(size));
  return in.ok() ? std::optional(frame) : std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Bytes sent = fuzz::input(data + 1, size - 1);
  boost::asio::io_context context;
  ManualClock clock;
  ByteBudget budget(kBudget);
  FrameLimits limits{.size_max = kSizeMax};
  Chopped stream(sent, data[0] + std::size_t{1});
  FrameReader reader(stream, clock, budget, limits, context.get_executor());
  ByteReader plain(sent);
  while (true) {
    bool at_end = plain.remaining() == 0;
    auto frame = run_task(context, reader.next());
    // The rest of one frame may overdraw the budget.
    require(budget.used() <= kBudget + kSizeMax);
    auto right = expected(plain);
    if (!right) {
      require(at_end ? frame.has_value() && !*frame : !frame.has_value());
      break;
    }
    require(frame && *frame && as_text((*frame)->bytes.bytes()) == as_text(*right));
    require(budget.used() >= right->size());
  }
  require(budget.used() == 0);
  return 0;
}
