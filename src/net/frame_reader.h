// Cuts the requests of a Kafka connection out of its stream: a size of four bytes, then that many
// bytes, each frame in one block of memory that nobody copies again.
//
// Memory is reserved from the budget before it is allocated, and the socket is not read while the
// reservation waits: this is the back-pressure that producers feel. A frame comes with its
// reservation: its bytes count as used until that is dropped. A size is only a
// claim: of a frame above 1 MiB the first MiB is reserved, and as it fills the reservation doubles.
// The block is allocated whole (pages that no byte reached cost no memory), so a growing frame is
// never copied. When the budget is used up the rest of one such frame at a time may overdraw it
// (ByteBudget::extend_to_end): frames that each hold a part must not wait for each other.
//
// Belongs to its connection and its executor. Errors: kInvalid (a size that no client of Kafka
// sends), kTimeout (a frame that comes too slowly), kUnavailable (the connection broke, or ended
// within a frame), kExhausted (no memory), kCancelled (stop()).
#pragma once
#include "base/units.h"
#include "net/stream.h"
#include "runtime/byte_budget.h"
#include "runtime/clock.h"
#include "runtime/lazy_deadline.h"

#include <array>
#include <optional>
#include <stop_token>

namespace weir::net {

struct FrameLimits {
  ByteCount size_max = 100_MiB;  // socket.request.max.bytes
  // From a frame's first byte to its last: this long, and longer by a second for each `rate_min`
  // bytes that came. Time spent waiting for memory does not count.
  Duration time_max = std::chrono::seconds(30);
  // Instead of time_max while others wait for memory: slow frames must not keep it from them.
  Duration time_short = std::chrono::seconds(5);
  ByteCount rate_min = 64_KiB;
};

struct Frame {
  Slice bytes;  // without the size in front
  // The bytes' place in the budget. Who keeps the bytes longer than this accounts for them
  // otherwise.
  std::shared_ptr<const void> reservation;
};

class FrameReader {
 public:
  FrameReader(Stream& stream, Clock& clock, ByteBudget& budget, const FrameLimits& limits,
              const Executor& executor);

  // The next frame; nothing: the peer has ended its side between two frames.
  Task<Result<std::optional<Frame>>> next();
  // This and every later next() end with kCancelled.
  void stop();
  // It waits for the first byte of a frame, so nothing of one is pending.
  [[nodiscard]] bool between_frames() const { return !in_frame_; }

 private:
  struct Reserved;

  // Enough for a run of small requests at once, little enough for ten thousand idle connections.
  static constexpr std::size_t kScratchSize = 4096;

  void begin_frame();
  Task<Result<std::optional<std::size_t>>> read_size();
  Task<Result<Frame>> read_body(std::size_t size);
  Task<Status> reserve_part(Reserved& reserved, std::size_t size);
  Task<Result<std::size_t>> fill(MutableBytes into, MutableBytes spill);
  [[nodiscard]] MonoTime latest(Duration time) const;
  void on_deadline();
  std::size_t take_buffered(MutableBytes into);
  void compact();
  [[nodiscard]] std::size_t buffered() const { return end_ - begin_; }

  Stream& stream_;
  Clock& clock_;
  ByteBudget& budget_;
  const FrameLimits& limits_;
  LazyDeadline deadline_;
  std::stop_source stop_;
  bool timed_out_ = false;

  bool in_frame_ = false;
  MonoTime started_;          // of the frame, moved on by the time spent waiting for memory
  std::size_t received_ = 0;  // of the frame

  // Bytes read and not yet given out: scratch_[begin_, end_).
  std::array<std::byte, kScratchSize> scratch_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace weir::net
