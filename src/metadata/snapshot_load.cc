#include "metadata/snapshot_load.h"

#include "metadata/state/snapshot_codec.h"
#include "runtime/oneshot.h"
#include "runtime/run_on.h"

#include <boost/asio/post.hpp>

namespace weir::metadata {

Task<Result<State>> decode_snapshot(std::vector<Slice> chunks, Executor blocking) {
  // All parts at once: the executor has several threads.
  std::vector<OneShot<Result<DecodedPart>>> decoding;
  for (Slice& chunk : chunks) {
    auto& done = decoding.emplace_back();
    boost::asio::post(blocking,
                      [done, chunk = std::move(chunk)]() mutable { done.set(decode_part(chunk)); });
  }
  std::vector<DecodedPart> parts;
  Status failed;
  for (auto& part : decoding) {
    auto decoded = co_await part.wait();
    if (decoded) {
      parts.push_back(std::move(*decoded));
    } else if (failed) {
      failed = std::unexpected(decoded.error());
    }
  }
  WEIR_CO_CHECK(failed);
  co_return co_await run_on(blocking, [&parts] { return assemble(std::move(parts)); });
}

}  // namespace weir::metadata
