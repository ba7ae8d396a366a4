// The XML and the dates that S3 and its clients exchange. Pure functions. Readers take any bytes,
// demand the elements that the documentation promises, and fail with kUnavailable (an answer that
// is no answer may be right the next time).
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "base/units.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::storage::s3 {

struct ErrorBody {
  std::string code;
  std::string message;
  std::string request_id;
};
// Nothing: it is no <Error>.
[[nodiscard]] std::optional<ErrorBody> parse_error(Bytes xml);

struct ListedObject {
  std::string key;
  ByteCount size = 0;
  TimestampMs modified_ms = 0;
};
struct Listing {
  std::vector<ListedObject> objects;
  bool truncated = false;
  std::string token;  // of the next page
};
[[nodiscard]] Result<Listing> parse_listing(Bytes xml);

[[nodiscard]] Result<std::string> parse_upload_id(Bytes xml);
// Success unless the answer to a completion is an error, which comes with status 200 too.
[[nodiscard]] Status parse_completion(Bytes xml);

struct DeleteFailure {
  std::string key;
  ErrorBody error;
};
[[nodiscard]] Result<std::vector<DeleteFailure>> parse_delete_failures(Bytes xml);

struct UploadedPart {
  std::string etag;
  std::string checksum;  // empty: none
};
// Keys and tags are escaped. Parts count from 1.
[[nodiscard]] std::string delete_body(const std::vector<std::string>& keys);
[[nodiscard]] std::string completion_body(const std::vector<UploadedPart>& parts);

// "2009-10-12T17:50:30.000Z" and "Mon, 12 Oct 2009 17:50:30 GMT".
[[nodiscard]] std::optional<TimestampMs> parse_iso_time(std::string_view text);
[[nodiscard]] std::optional<TimestampMs> parse_http_time(std::string_view text);

}  // namespace weir::storage::s3
