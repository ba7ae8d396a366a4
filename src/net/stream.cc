#include "net/stream.h"

#include "runtime/lazy_deadline.h"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <array>

namespace weir::net {

void PieceCursor::advance(std::size_t count) {
  while (count > 0) {
    Bytes& piece = pieces_[next_];
    if (count < piece.size()) {
      piece = piece.subspan(count);
      return;
    }
    count -= piece.size();
    ++next_;
  }
}

Task<Status> write_all(Stream& stream, Chain chain) {
  PieceCursor cursor;
  for (const Slice& slice : chain.slices()) cursor.add(slice.bytes());
  while (!cursor.done()) {
    WEIR_CO_TRY(std::size_t count, co_await stream.write_some(cursor.rest()));
    cursor.advance(count);
  }
  co_return Status();
}

Task<Status> read_exactly(Stream& stream, MutableBytes into) {
  while (!into.empty()) {
    WEIR_CO_TRY(std::size_t count, co_await stream.read_some(into, {}));
    if (count == 0) {
      co_return fail(ErrorCode::kUnavailable,
                     fmt::format("{} ended {} bytes too early", stream.peer(), into.size()));
    }
    into = into.subspan(count);
  }
  co_return Status();
}

Task<void> close_gently(Stream& stream, Clock& clock, Duration patience) {
  bool over = false;
  LazyDeadline deadline(clock, co_await boost::asio::this_coro::executor, [&] {
    over = true;
    stream.cancel_read();
  });
  deadline.set(clock.now() + patience);
  stream.shutdown_send();
  std::array<std::byte, 1024> dropped;
  Result<std::size_t> count = 1;
  while (!over && count && *count > 0) count = co_await stream.read_some(dropped, {});
  stream.close();
}

}  // namespace weir::net
