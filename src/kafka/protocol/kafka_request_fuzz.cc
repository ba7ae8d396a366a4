// Request frames as a connection gets them, behind their size.
#include "kafka/protocol/frame.h"
#include "kafka/protocol/fuzz_recode.h"

#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  Slice frame = Slice::copy_of(std::as_bytes(std::span(data, size)));
  Result<kafka::RequestFrame> parsed = kafka::parse_request(frame);
  if (!parsed) return 0;
  kafka::fuzz_recode(std::string(parsed->api->name) + " request", parsed->header.version,
                     parsed->body);
  return 0;
}
