// AWS Signature Version 4 in the Authorization header, for requests to S3 (the path is encoded
// once, slashes stay). Pure functions.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
#pragma once
#include "base/secret.h"
#include "base/sha256.h"
#include "base/units.h"
#include "net/http_client.h"
#include "storage/s3/dialect.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::storage::s3 {

struct Credentials {
  std::string access_key;
  Secret secret_key;
  Secret session_token;                   // empty: long-lived
  std::optional<TimestampMs> expires_ms;  // none: never
};

// A request before it is signed.
struct Signable {
  std::string_view method;
  std::string_view path;            // encoded
  std::string_view query;           // canonical, see canonical_query()
  const net::HttpHeaders& headers;  // all are signed; names in lower case; host among them
  std::string_view payload_hash;    // or kUnsignedPayload
};

struct SigningScope {
  const Dialect& dialect;
  std::string_view region;
  TimestampMs now_ms = 0;
};

constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";

using Query = std::vector<std::pair<std::string, std::string>>;

// RFC 3986: letters, digits and "-._~" stay.
[[nodiscard]] std::string uri_encode(std::string_view text, bool keep_slashes);
// Encoded and in order, "a=1&b="; what to send and what to sign.
[[nodiscard]] std::string canonical_query(Query query);
// "20130524T000000Z"
[[nodiscard]] std::string signing_time(TimestampMs now_ms);

[[nodiscard]] std::string canonical_request(const Signable& request);
[[nodiscard]] Sha256 signing_key(const Secret& secret_key, const SigningScope& scope);
// The value of the Authorization header.
[[nodiscard]] std::string authorization(const Signable& request, const Credentials& credentials,
                                        const SigningScope& scope);

}  // namespace weir::storage::s3
