// Frames of the Kafka protocol, without the socket: a request's header is read and its body left as
// a slice; a response becomes a chain with size and header in front. A frame on the wire is a
// signed 32-bit size and that many bytes; the functions that parse take the bytes behind the size,
// those that build give all. Values, thread-agnostic. Errors: kInvalid.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "kafka/protocol/api.h"
#include "kafka/protocol/message.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::kafka {

struct RequestHeader {
  ApiKey api_key{};
  std::int16_t version = 0;  // as the client sent it: perhaps one that is not served
  std::int32_t correlation_id = 0;
  std::optional<std::string_view> client_id;  // in the frame's memory or in kept_texts
  KeptTexts kept_texts;
};

struct RequestFrame {
  RequestHeader header;
  const ApiInfo* api = nullptr;  // never null in a parsed frame
  Slice body;
};

// Fails for an API that is not in the table: its header's form is unknown, so no answer is possible
// and the connection ends.
[[nodiscard]] Result<RequestFrame> parse_request(const Slice& frame);

// The body of a response, for a client that knows what it asked; `correlation_id` must be the one
// it sent.
[[nodiscard]] Result<Slice> parse_response(const Slice& frame, ApiKey key, std::int16_t version,
                                           std::int32_t correlation_id);

// What stands in front of a body. `rest` is the frame's size: all bytes behind the size itself.
struct FrameHead {
  const ApiInfo* api;
  std::int16_t version;
  std::int32_t correlation_id;
  std::optional<std::string_view> client_id;  // of a request
  bool is_request;

  void write(SizeCounter& out, std::size_t rest) const;
  void write(ChainWriter& out, std::size_t rest) const;
};

template <typename M>
[[nodiscard]] Result<Chain> build_frame(const FrameHead& head, const M& message) {
  WEIR_CHECK(check_version(M::kName, head.version, M::kMinVersion, M::kMaxVersion));
  SizeCounter size;
  head.write(size, 0);
  write(size, message, head.version);
  WEIR_CHECK(check_size(M::kName, head.version, size));
  ChainWriter out(size.in_buffer());
  head.write(out, size.total() - sizeof(std::int32_t));
  write(out, message, head.version);
  return out.finish();
}

// A whole response frame. Its first slice begins with the size; records of the message are not
// copied.
template <typename Response>
[[nodiscard]] Result<Chain> response_frame(std::int32_t correlation_id, const Response& response,
                                           std::int16_t version) {
  return build_frame(
      FrameHead{find_api(Response::kApiKey), version, correlation_id, std::nullopt, false},
      response);
}

// A whole request frame, for clients.
template <typename Request>
[[nodiscard]] Result<Chain> request_frame(std::int32_t correlation_id,
                                          std::optional<std::string_view> client_id,
                                          const Request& request, std::int16_t version) {
  return build_frame(
      FrameHead{find_api(Request::kApiKey), version, correlation_id, client_id, true}, request);
}

}  // namespace weir::kafka
