#include "net/frame_reader.h"

#include "base/byte_reader.h"

#include <cstring>
#include <new>

namespace weir::net {
namespace {

constexpr std::size_t kSizeBytes = 4;
// Of a large frame, before its bytes come: announcing much must not keep much from others.
constexpr ByteCount kFirstPart = 64_KiB;

std::unexpected<Error> cancelled() { return fail(ErrorCode::kCancelled, "the reader stops"); }

// What strangers on the wrong port send where Kafka's clients send the size.
std::string_view guess(std::string_view first_bytes) {
  if (first_bytes.starts_with("\x16\x03")) return "; this looks like TLS on a plaintext listener";
  for (std::string_view method : {"GET ", "POST", "PUT ", "HEAD", "PRI "}) {
    if (first_bytes == method) return "; this looks like HTTP on a Kafka listener";
  }
  return "";
}

std::unexpected<Error> bad_size(Bytes bytes, ByteCount size_max) {
  return fail(ErrorCode::kInvalid,
              fmt::format("a request of {} bytes is announced, 1 to {} (socket.request.max.bytes) "
                          "are allowed{}",
                          ByteReader(bytes).i32(), size_max, guess(as_text(bytes))));
}

}  // namespace

// What of a frame is reserved so far.
struct FrameReader::Reserved {
  std::vector<ByteBudget::Reservation> parts;
  std::size_t bytes = 0;
};

FrameReader::FrameReader(Stream& stream, Clock& clock, ByteBudget& budget,
                         const FrameLimits& limits, const Executor& executor)
    : stream_(stream),
      clock_(clock),
      budget_(budget),
      limits_(limits),
      deadline_(clock, executor, [this] { on_deadline(); }) {}

void FrameReader::stop() {
  stop_.request_stop();
  stream_.cancel_read();
}

Task<Result<std::optional<Frame>>> FrameReader::next() {
  WEIR_CO_TRY(std::optional<std::size_t> size, co_await read_size());
  if (!size) co_return std::nullopt;
  WEIR_CO_TRY(Frame frame, co_await read_body(*size));
  in_frame_ = false;
  deadline_.clear();
  co_return frame;
}

void FrameReader::begin_frame() {
  in_frame_ = true;
  started_ = clock_.now();
  received_ = buffered();
}

Task<Result<std::optional<std::size_t>>> FrameReader::read_size() {
  if (buffered() > 0) begin_frame();
  while (buffered() < kSizeBytes) {
    compact();
    WEIR_CO_TRY(std::size_t count, co_await fill({}, MutableBytes(scratch_).subspan(end_)));
    if (count == 0 && !in_frame_) co_return std::nullopt;
    if (count == 0) co_return fail(ErrorCode::kUnavailable, "the peer ended within a size");
    if (!in_frame_) begin_frame();
  }
  Bytes bytes = Bytes(scratch_).subspan(begin_, kSizeBytes);
  std::int32_t size = ByteReader(bytes).i32();
  if (size <= 0 || static_cast<ByteCount>(size) > limits_.size_max) {
    co_return bad_size(bytes, limits_.size_max);
  }
  begin_ += kSizeBytes;
  co_return static_cast<std::size_t>(size);
}

Task<Result<Frame>> FrameReader::read_body(std::size_t size) {
  auto reserved = std::make_shared<Reserved>();
  std::shared_ptr<std::byte[]> memory;
  std::size_t got = 0;
  while (got < size) {
    if (got == reserved->bytes) WEIR_CO_CHECK(co_await reserve_part(*reserved, size));
    if (!memory) memory.reset(new (std::nothrow) std::byte[size]);
    if (!memory) {
      co_return fail(ErrorCode::kExhausted, fmt::format("no memory for {} bytes", size));
    }
    MutableBytes into(memory.get() + got, reserved->bytes - got);
    if (buffered() > 0) {
      got += take_buffered(into);
      continue;
    }
    begin_ = end_ = 0;
    // The start of the next frame often lies behind the end of this one.
    MutableBytes spill = reserved->bytes == size ? MutableBytes(scratch_) : MutableBytes();
    WEIR_CO_TRY(std::size_t count, co_await fill(into, spill));
    if (count == 0) {
      co_return fail(ErrorCode::kUnavailable,
                     fmt::format("the peer ended after {} of a frame's {} bytes", got, size));
    }
    got += std::min(count, into.size());
  }
  Bytes bytes(memory.get(), size);
  co_return Frame{.bytes = Slice(std::move(memory), bytes), .reservation = std::move(reserved)};
}

Task<Status> FrameReader::reserve_part(Reserved& reserved, std::size_t size) {
  const ByteCount rest = size - reserved.bytes;
  const bool first = reserved.bytes == 0;
  ByteCount part = std::min(rest, first ? std::min(kFirstPart, budget_.limit()) : reserved.bytes);
  ByteBudget::Reservation reservation =
      first ? budget_.try_reserve(part) : budget_.try_extend(part);
  if (!reservation) {
    deadline_.clear();
    const MonoTime since = clock_.now();
    if (first) {
      reservation = co_await budget_.reserve(part, stop_.get_token());
    } else {
      part = rest;
      reservation = co_await budget_.extend_to_end(part, stop_.get_token());
    }
    started_ += clock_.now() - since;
  }
  if (!reservation) co_return cancelled();
  reserved.parts.push_back(std::move(reservation));
  reserved.bytes += part;
  co_return Status();
}

// When the frame must have its next bytes, if it may take `time` and what its bytes earned.
MonoTime FrameReader::latest(Duration time) const {
  return started_ + time + std::chrono::seconds(1) * (received_ / limits_.rate_min);
}

void FrameReader::on_deadline() {
  const MonoTime now = clock_.now();
  const MonoTime end = latest(limits_.time_max);
  if (now < end && budget_.waiting() == 0) {
    deadline_.set(std::min(end, now + limits_.time_short));
    return;
  }
  timed_out_ = true;
  stream_.cancel_read();
}

Task<Result<std::size_t>> FrameReader::fill(MutableBytes into, MutableBytes spill) {
  if (stop_.stop_requested()) co_return cancelled();
  if (in_frame_) deadline_.set(latest(std::min(limits_.time_short, limits_.time_max)));
  Result<std::size_t> count = co_await stream_.read_some(into, spill);
  if (stop_.stop_requested()) co_return cancelled();
  if (in_frame_ && timed_out_) {
    auto waited = std::chrono::duration_cast<std::chrono::seconds>(clock_.now() - started_);
    co_return fail(ErrorCode::kTimeout, fmt::format("only {} bytes of a frame came within {} s",
                                                    received_, waited.count()));
  }
  if (count) {
    received_ += *count;
    end_ += *count > into.size() ? *count - into.size() : 0;
  }
  co_return count;
}

std::size_t FrameReader::take_buffered(MutableBytes into) {
  std::size_t count = std::min(into.size(), buffered());
  std::memcpy(into.data(), scratch_.data() + begin_, count);
  begin_ += count;
  return count;
}

// Moves the few bytes of a size that is not complete to the front.
void FrameReader::compact() {
  if (begin_ == 0) return;
  std::memmove(scratch_.data(), scratch_.data() + begin_, buffered());
  end_ = buffered();
  begin_ = 0;
}

}  // namespace weir::net
