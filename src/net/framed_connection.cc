#include "net/framed_connection.h"

#include <fmt/format.h>

#include <utility>

namespace weir::net {
namespace {

// Responses that are ready are written together up to here.
constexpr std::size_t kBatchBytes = 256 * 1024;
constexpr std::size_t kBatchResponses = 64;

Error closed_error() { return {ErrorCode::kCancelled, "the connection is closed"}; }

}  // namespace

ConnectionMetrics::ConnectionMetrics(MetricsRegistry& registry, const std::string& listener)
    : open(registry.gauge("weir_net_connections", "Open client connections.",
                          {{"listener", listener}})),
      failed(registry.counter("weir_net_connections_failed_total",
                              "Connections closed for a fault of the client or the network.",
                              {{"listener", listener}})),
      requests(registry.counter("weir_net_requests_total", "Requests read from clients.",
                                {{"listener", listener}})),
      received_bytes(registry.counter("weir_net_received_bytes_total",
                                      "Bytes of requests read from clients.",
                                      {{"listener", listener}})),
      sent_bytes(registry.counter("weir_net_sent_bytes_total",
                                  "Bytes of responses written to clients.",
                                  {{"listener", listener}})) {}

FramedConnection::FramedConnection(std::unique_ptr<Stream> stream,
                                   const ConnectionServices& services, ConnectionContext context)
    : stream_(std::move(stream)),
      clock_(services.clock),
      handler_(services.handler),
      limits_(services.limits),
      metrics_(services.metrics),
      context_(std::move(context)),
      reader_(*stream_, clock_, services.budget, limits_.frame, context_.executor),
      deadline_(clock_, context_.executor, [this] { on_deadline(); }),
      active_at_(clock_.now()),
      untaken_(clock_, context_.executor, [this] { on_untaken(); }) {
  context_.peer = stream_->peer();
  context_.local_port = stream_->local_port();
  context_.closed = closed_.get_token();
}

Task<Status> FramedConnection::run() {
  handler_.opened(context_);
  if (limits_.idle >= Duration::zero()) deadline_.set(active_at_ + limits_.idle);
  tasks_.spawn(context_.executor, write_loop());
  co_await read_loop();
  reading_ = false;
  work_.notify();
  co_await tasks_.join();
  deadline_.clear();
  if (!aborted_ && !half_closed_) co_await close_gently(*stream_, clock_, limits_.linger);
  stream_->close();
  closed_.request_stop();
  if (failure_) co_return std::unexpected(*failure_);
  co_return Status();
}

Task<void> FramedConnection::read_loop() {
  while (true) {
    co_await wait_for_room();
    Result<std::optional<Frame>> frame = co_await reader_.next();
    if (!frame) {
      // Cancelled: somebody asked for it and knows why.
      if (frame.error().code != ErrorCode::kCancelled) abort(std::move(frame).error());
      co_return;
    }
    if (!*frame) {
      half_closed_ = true;
      deadline_.set(clock_.now() + limits_.half_closed);
      co_return;
    }
    active_at_ = clock_.now();
    metrics_.requests.add();
    metrics_.received_bytes.add((*frame)->bytes.size());
    Request request{.frame = std::move((*frame)->bytes),
                    .reservation = std::move((*frame)->reservation),
                    .received = active_at_};
    starting_ = true;
    Pending pending = co_await handler_.start(std::move(request), context_);
    starting_ = false;
    if (closed_.stop_requested()) pending.set(std::unexpected(closed_error()));
    ++unanswered_;
    ByteCount ready = 0;
    bool is_refused = false;
    pending.peek([&](const Response& response) {
      is_refused = !response;
      if (response && *response) ready = (*response)->size();
    });
    ready_ += ready;
    pending_.push_back({.pending = std::move(pending), .ready = ready});
    work_.notify();
    // What was sent behind it may rely on it: it is not started, though earlier responses have
    // time.
    if (is_refused) co_return;
  }
}

bool FramedConnection::has_room() const {
  return unanswered_ < limits_.unanswered_max && unsent_ + ready_ <= limits_.unsent_max;
}

Task<void> FramedConnection::wait_for_room() {
  while (!has_room() && !closed_.stop_requested()) co_await room_.wait();
}

Task<void> FramedConnection::write_loop() {
  while (!aborted_) {
    if (pending_.empty()) {
      if (!reading_) co_return;
      co_await work_.wait();
      continue;
    }
    std::optional<Error> refused = co_await collect();
    Status written = co_await flush();
    unanswered_ = pending_.size();
    room_.notify();
    if (!written) {
      abort(std::move(written).error());
    } else if (refused) {
      refuse_rest(*std::move(refused));
      co_return;
    }
  }
}

// Waits for the next response and takes those behind it that are ready as well. The answer: the
// error that one of them is.
Task<std::optional<Error>> FramedConnection::collect() {
  do {
    Response response = co_await pending_.front().pending.wait();
    ready_ -= pending_.front().ready;
    pending_.pop_front();
    if (!response) co_return std::move(response).error();
    if (!*response) continue;
    batch_.push_back(**std::move(response));
    unsent_ += batch_.back().size();
    for (const Slice& slice : batch_.back().slices()) cursor_.add(slice.bytes());
  } while (!pending_.empty() && pending_.front().pending.is_set() && unsent_ < kBatchBytes &&
           batch_.size() < kBatchResponses);
  co_return std::nullopt;
}

Task<Status> FramedConnection::flush() {
  Status status;
  taken_ = 0;
  untaken_.set(clock_.now() + limits_.taken_time);
  while (!cursor_.done() && !aborted_) {
    Result<std::size_t> count = co_await stream_->write_some(cursor_.rest());
    if (!count) {
      status = std::unexpected(std::move(count).error());
      break;
    }
    cursor_.advance(*count);
    unsent_ -= *count;
    taken_ += *count;
    active_at_ = clock_.now();
    metrics_.sent_bytes.add(*count);
  }
  untaken_.clear();
  batch_.clear();
  cursor_.clear();
  unsent_ = 0;
  co_return status;
}

void FramedConnection::drain() { reader_.stop(); }

void FramedConnection::abort(Error reason) {
  if (aborted_) return;
  aborted_ = true;
  stream_->close();
  refuse_rest(std::move(reason));
}

// No further response is sent.
void FramedConnection::refuse_rest(Error reason) {
  if (!failure_) failure_ = std::move(reason);
  reader_.stop();
  for (Waiting& one : pending_) one.pending.set(std::unexpected(closed_error()));
  closed_.request_stop();
  room_.notify();
  work_.notify();
}

bool FramedConnection::is_busy() const {
  // A frame has its own limits, and a request that waits for the broker is the broker's affair.
  return starting_ || !reader_.between_frames() || (unanswered_ > 0 && unsent_ == 0);
}

void FramedConnection::on_untaken() {
  if (taken_ < limits_.taken_min && handler_.is_short_of_memory()) {
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(limits_.taken_time);
    abort({ErrorCode::kTimeout,
           fmt::format("only {} bytes of a response were taken within {} s while others wait for "
                       "the memory",
                       taken_, waited.count())});
    return;
  }
  taken_ = 0;
  untaken_.set(clock_.now() + limits_.taken_time);
}

void FramedConnection::on_deadline() {
  const MonoTime now = clock_.now();
  if (half_closed_) {
    abort({ErrorCode::kTimeout, "the client ended before its responses were ready"});
  } else if (is_busy()) {
    deadline_.set(now + limits_.idle);
  } else if (now < active_at_ + limits_.idle) {
    deadline_.set(active_at_ + limits_.idle);
  } else {
    abort({ErrorCode::kTimeout, "idle for connections.max.idle.ms"});
  }
}

}  // namespace weir::net
