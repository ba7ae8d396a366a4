// What differs between S3 and the stores that speak nearly the same protocol: the only place that
// knows. Constants, chosen by the host that is spoken to or by `dialect=` of the URL.
//
// s3: Amazon S3, and what means to be compatible (MinIO, Ceph, Versity, R2, …).
// gcs: the XML API of Google Cloud Storage with HMAC keys. It has conditions and checksums of its
// own, and takes them only in requests that are signed in its own way; it has no batch delete.
#pragma once
#include <optional>
#include <string_view>

namespace weir::storage::s3 {

struct Dialect {
  std::string_view name;
  std::string_view default_region;  // where an endpoint is given and no region

  // Signatures.
  std::string_view algorithm;      // "AWS4-HMAC-SHA256"
  std::string_view key_prefix;     // "AWS4"
  std::string_view terminator;     // "aws4_request"
  std::string_view service;        // "s3"
  std::string_view header_prefix;  // "x-amz-"
  std::string_view token_header;   // of temporary credentials

  // "Only if there is no such object."
  std::string_view absent_header;
  std::string_view absent_value;
  // The CRC-32C of the body, big-endian, in base64, behind this.
  std::string_view checksum_header;
  std::string_view checksum_prefix;
  // Asks for the checksum of what is read; empty: it comes unasked.
  std::string_view checksum_mode_header;

  bool batch_delete = true;
};

extern const Dialect kAmazon;
extern const Dialect kGoogle;

// "s3", "gcs".
[[nodiscard]] const Dialect* find_dialect(std::string_view name);
[[nodiscard]] const Dialect& dialect_of_host(std::string_view host);

}  // namespace weir::storage::s3
