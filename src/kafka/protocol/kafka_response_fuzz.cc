// Bodies of responses behind two bytes of API key and two of version.
#include "kafka/protocol/api.h"
#include "kafka/protocol/fuzz_recode.h"

#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  Slice input = Slice::copy_of(std::as_bytes(std::span(data, size)));
  ByteReader in(input.bytes());
  const kafka::ApiInfo* api = kafka::find_api(in.i16());
  std::int16_t version = in.i16();
  if (!in.ok() || api == nullptr) return 0;
  kafka::fuzz_recode(std::string(api->name) + " response", version, input.sub(in.position()));
  return 0;
}
