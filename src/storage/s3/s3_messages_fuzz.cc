// What the store answers is read without trust.
#include "storage/s3/checksum.h"
#include "storage/s3/environment.h"
#include "storage/s3/location.h"
#include "storage/s3/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  using namespace weir::storage::s3;
  Bytes bytes = std::as_bytes(std::span(data, size));
  (void)parse_error(bytes);
  auto listing = parse_listing(bytes);
  if (listing && listing->truncated && listing->token.empty()) __builtin_trap();
  (void)parse_upload_id(bytes);
  (void)parse_completion(bytes);
  (void)parse_delete_failures(bytes);
  (void)parse_iso_time(as_text(bytes));
  (void)parse_http_time(as_text(bytes));
  (void)checksum_fits(as_text(bytes), "crc32c=", bytes);
  (void)parse_profiles(as_text(bytes), true);
  auto location = parse_location(as_text(bytes));
  if (location) (void)resolve(*location, "region");
  return 0;
}
