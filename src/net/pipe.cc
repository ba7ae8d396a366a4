#include "net/pipe.h"

#include "runtime/notifier.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

namespace weir::net {
namespace {

// One way of the pair: written by one end, read by the other.
struct Way {
  explicit Way(std::size_t limit) : capacity(limit) {}

  [[nodiscard]] std::size_t size() const { return bytes.size() - taken; }
  std::size_t take(MutableBytes into) {
    std::size_t count = std::min(size(), into.size());
    if (count > 0) std::memcpy(into.data(), bytes.data() + taken, count);
    taken += count;
    if (taken == bytes.size()) bytes.clear();
    if (bytes.empty()) taken = 0;
    return count;
  }
  std::size_t put(Bytes piece) {
    Bytes part = piece.first(std::min(capacity - size(), piece.size()));
    if (bytes.size() + part.size() > 2 * capacity) {
      bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
      taken = 0;
    }
    bytes.insert(bytes.end(), part.begin(), part.end());
    return part.size();
  }

  const std::size_t capacity;
  std::mutex mutex;  // guards what follows, but for the notifiers
  std::vector<std::byte> bytes;
  std::size_t taken = 0;  // of the front of bytes
  bool ended = false;     // the writer ended its side
  bool broken = false;    // either end is closed
  Notifier readable;
  Notifier writable;
};

class PipeEnd final : public Stream {
 public:
  PipeEnd(std::shared_ptr<Way> in, std::shared_ptr<Way> out, const PipeOptions& options)
      : in_(std::move(in)),
        out_(std::move(out)),
        peer_(options.peer),
        local_port_(options.local_port) {}
  ~PipeEnd() override { PipeEnd::close(); }

  Task<Result<std::size_t>> read_some(MutableBytes into, MutableBytes spill) override {
    reading_ = true;
    cancelled_ = false;
    while (true) {
      if (auto done = try_read(into, spill)) {
        reading_ = false;
        co_return *done;
      }
      co_await in_->readable.wait();
    }
  }

  Task<Result<std::size_t>> write_some(std::span<const Bytes> pieces) override {
    while (true) {
      if (auto done = try_write(pieces)) co_return *done;
      co_await out_->writable.wait();
    }
  }

  void cancel_read() override {
    if (!reading_) return;
    cancelled_ = true;
    in_->readable.notify();
  }

  void shutdown_send() override {
    {
      std::lock_guard lock(out_->mutex);
      out_->ended = true;
    }
    out_->readable.notify();
  }

  void close() override {
    closed_ = true;
    for (Way* way : {in_.get(), out_.get()}) {
      {
        std::lock_guard lock(way->mutex);
        way->broken = true;
      }
      way->readable.notify();
      way->writable.notify();
    }
  }

  [[nodiscard]] const std::string& peer() const override { return peer_; }
  [[nodiscard]] std::uint16_t local_port() const override { return local_port_; }

 private:
  // Nothing: it has to wait.
  std::optional<Result<std::size_t>> try_read(MutableBytes into, MutableBytes spill) {
    if (closed_) return fail(ErrorCode::kCancelled, "closed");
    std::size_t count = 0;
    {
      std::lock_guard lock(in_->mutex);
      if (in_->size() == 0) {
        // As with TCP, what was written before a close is still read.
        if (in_->ended || in_->broken) return 0;
        if (cancelled_) return fail(ErrorCode::kCancelled, "read cancelled");
        return std::nullopt;
      }
      count = in_->take(into);
      count += in_->take(spill);
    }
    in_->writable.notify();
    return count;
  }

  std::optional<Result<std::size_t>> try_write(std::span<const Bytes> pieces) {
    if (closed_) return fail(ErrorCode::kCancelled, "closed");
    std::size_t count = 0;
    {
      std::lock_guard lock(out_->mutex);
      if (out_->broken) return fail(ErrorCode::kUnavailable, peer_ + " closed the connection");
      for (Bytes piece : pieces) count += out_->put(piece);
    }
    if (count == 0) return std::nullopt;
    out_->readable.notify();
    return count;
  }

  std::shared_ptr<Way> in_;
  std::shared_ptr<Way> out_;
  std::string peer_;
  std::uint16_t local_port_;
  bool reading_ = false;
  bool cancelled_ = false;
  bool closed_ = false;
};

}  // namespace

std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> make_pipe(PipeOptions options) {
  auto there = std::make_shared<Way>(options.capacity);
  auto back = std::make_shared<Way>(options.capacity);
  return {std::make_unique<PipeEnd>(there, back, options),
          std::make_unique<PipeEnd>(back, there, options)};
}

}  // namespace weir::net
