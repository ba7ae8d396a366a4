#include "storage/s3/dialect.h"

namespace weir::storage::s3 {

const Dialect kAmazon = {.name = "s3",
                         .default_region = "us-east-1",
                         .algorithm = "AWS4-HMAC-SHA256",
                         .key_prefix = "AWS4",
                         .terminator = "aws4_request",
                         .service = "s3",
                         .header_prefix = "x-amz-",
                         .token_header = "x-amz-security-token",
                         .absent_header = "if-none-match",
                         .absent_value = "*",
                         .checksum_header = "x-amz-checksum-crc32c",
                         .checksum_prefix = "",
                         .checksum_mode_header = "x-amz-checksum-mode",
                         .batch_delete = true};

const Dialect kGoogle = {.name = "gcs",
                         .default_region = "auto",
                         .algorithm = "GOOG4-HMAC-SHA256",
                         .key_prefix = "GOOG4",
                         .terminator = "goog4_request",
                         .service = "storage",
                         .header_prefix = "x-goog-",
                         .token_header = "x-goog-security-token",
                         .absent_header = "x-goog-if-generation-match",
                         .absent_value = "0",
                         .checksum_header = "x-goog-hash",
                         .checksum_prefix = "crc32c=",
                         .checksum_mode_header = "",
                         .batch_delete = false};

const Dialect* find_dialect(std::string_view name) {
  for (const Dialect* one : {&kAmazon, &kGoogle}) {
    if (one->name == name) return one;
  }
  return nullptr;
}

const Dialect& dialect_of_host(std::string_view host) {
  bool google = host == "storage.googleapis.com" || host.ends_with(".storage.googleapis.com");
  return google ? kGoogle : kAmazon;
}

}  // namespace weir::storage::s3
