#include "kafka/protocol/frame.h"

#include <fmt/format.h>

namespace weir::kafka {
namespace {

template <typename Out>
void write_head(Out& out, const FrameHead& head, std::size_t rest) {
  out.i32(static_cast<std::int32_t>(rest));
  std::int16_t version = head.is_request ? head.api->request_header_version(head.version)
                                         : head.api->response_header_version(head.version);
  if (head.is_request) {
    out.i16(static_cast<std::int16_t>(head.api->key));
    out.i16(head.version);
    out.i32(head.correlation_id);
    // Never compact, since a reader does not know the header's version yet when it gets here.
    out.nullable_string(head.client_id, false);
    if (version >= 2) out.uvarint(0);
  } else {
    out.i32(head.correlation_id);
    if (version >= 1) out.uvarint(0);
  }
}

}  // namespace

void FrameHead::write(SizeCounter& out, std::size_t rest) const { write_head(out, *this, rest); }
void FrameHead::write(ChainWriter& out, std::size_t rest) const { write_head(out, *this, rest); }

Result<RequestFrame> parse_request(const Slice& frame) {
  Decoder in(frame, memory_for(frame.size(), kMessageMemoryFactor));
  RequestFrame result;
  std::int16_t key = in.i16();
  result.header.version = in.i16();
  result.header.correlation_id = in.i32();
  if (!in.ok()) {
    return fail(ErrorCode::kInvalid,
                fmt::format("a request of {} bytes is too short for its header", frame.size()));
  }
  result.api = find_api(key);
  if (result.api == nullptr) {
    return fail(ErrorCode::kInvalid, fmt::format("api key {} is not one that clients use", key));
  }
  result.header.api_key = result.api->key;
  result.header.client_id = in.nullable_view(false);
  result.header.kept_texts = in.release_texts();
  if (result.api->request_header_version(result.header.version) >= 2) in.skip_tags();
  result.body = in.rest();
  WEIR_CHECK(
      in.finish("request header", result.api->request_header_version(result.header.version)));
  return result;
}

Result<Slice> parse_response(const Slice& frame, ApiKey key, std::int16_t version,
                             std::int32_t correlation_id) {
  Decoder in(frame, memory_for(frame.size(), kMessageMemoryFactor));
  std::int16_t header_version = find_api(key)->response_header_version(version);
  std::int32_t found = in.i32();
  if (header_version >= 1) in.skip_tags();
  Slice body = in.rest();
  WEIR_CHECK(in.finish("response header", header_version));
  if (found != correlation_id) {
    return fail(ErrorCode::kInvalid,
                fmt::format("the response has correlation id {}, not {}", found, correlation_id));
  }
  return body;
}

}  // namespace weir::kafka
