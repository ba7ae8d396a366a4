// A connection as two streams of bytes: TCP (net/tcp_stream.h) or a pair in memory (net/pipe.h).
//
// Owned by whoever serves the connection; belongs to one executor: every call and resumption
// happens there. At most one read_some and one write_some are in progress at a time. Errors:
// kCancelled (cancel_read() or close() ended the call), kUnavailable (the connection is broken).
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "runtime/clock.h"
#include "runtime/task.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::net {

class Stream {
 public:
  virtual ~Stream() = default;

  // Waits for bytes and reads what is there: at least one byte, first into `into`, what is left
  // over into `spill` (either may be empty, not both). 0: the peer has ended its side.
  virtual Task<Result<std::size_t>> read_some(MutableBytes into, MutableBytes spill) = 0;
  // Waits for room and writes a part of `pieces`, one after the other: at least one byte. The
  // memory must stay until the answer.
  virtual Task<Result<std::size_t>> write_some(std::span<const Bytes> pieces) = 0;
  // A read_some in progress ends with kCancelled, if it has read nothing; the stream stays usable.
  virtual void cancel_read() = 0;
  // The peer reads the end after what was written.
  virtual void shutdown_send() = 0;
  // Calls in progress end with kCancelled. May be called again.
  virtual void close() = 0;

  // "10.0.0.7:53412", "[::1]:53412"; for logs and address rules.
  [[nodiscard]] virtual const std::string& peer() const = 0;
  [[nodiscard]] virtual std::uint16_t local_port() const = 0;
};

// Writes all of `chain`.
Task<Status> write_all(Stream& stream, Chain chain);
// Fills `into`; kUnavailable when the peer ends before.
Task<Status> read_exactly(Stream& stream, MutableBytes into);

// The end of a connection after its last answer: tells the peer that no more comes, drops what the
// peer still sends, and closes the stream when the peer ends too, at the latest after `patience`.
// Closing while bytes of the peer lie unread would reset the connection, and the peer might lose
// the answer.
Task<void> close_gently(Stream& stream, Clock& clock, Duration patience);

// What is still to be written of a run of pieces.
class PieceCursor {
 public:
  void add(Bytes piece) {
    if (!piece.empty()) pieces_.push_back(piece);
  }
  [[nodiscard]] std::span<const Bytes> rest() const { return std::span(pieces_).subspan(next_); }
  [[nodiscard]] bool done() const { return next_ == pieces_.size(); }
  void advance(std::size_t count);
  void clear() {
    pieces_.clear();
    next_ = 0;
  }

 private:
  std::vector<Bytes> pieces_;
  std::size_t next_ = 0;
};

}  // namespace weir::net
