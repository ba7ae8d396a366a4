#include "storage/s3/s3_client.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::storage::s3 {
namespace {

constexpr std::size_t kMaxText = 300;  // of what the store says

struct CodeMeaning {
  std::string_view code;
  ErrorCode meaning;
};

// What a code means where the status alone would mislead.
constexpr CodeMeaning kMeanings[] = {
    {"NoSuchKey", ErrorCode::kNotFound},
    {"NoSuchVersion", ErrorCode::kNotFound},
    // A bucket, an upload or a right that is missing is not a missing object: nobody may conclude
    // that data is gone. They may come back while the broker runs.
    {"NoSuchBucket", ErrorCode::kUnavailable},
    {"NoSuchUpload", ErrorCode::kUnavailable},
    {"PreconditionFailed", ErrorCode::kConflict},
    {"SlowDown", ErrorCode::kThrottled},
    {"ServiceUnavailable", ErrorCode::kThrottled},
    {"RequestLimitExceeded", ErrorCode::kThrottled},
    {"TooManyRequests", ErrorCode::kThrottled},
    {"RequestTimeout", ErrorCode::kTimeout},
    // The body was damaged or cut on its way; it will be sent again.
    {"BadDigest", ErrorCode::kUnavailable},
    {"IncompleteBody", ErrorCode::kUnavailable},
    {"XAmzContentSHA256Mismatch", ErrorCode::kUnavailable},
    {"XAmzContentChecksumMismatch", ErrorCode::kUnavailable},
    // Another request for the same key is in progress.
    {"ConditionalRequestConflict", ErrorCode::kUnavailable},
    {"OperationAborted", ErrorCode::kUnavailable},
    {"ExpiredToken", ErrorCode::kUnavailable},
    {"QuotaExceeded", ErrorCode::kExhausted},
    {"XMinioStorageFull", ErrorCode::kExhausted},
};

ErrorCode meaning_of(int status, std::string_view code) {
  auto at = std::ranges::find(kMeanings, code, &CodeMeaning::code);
  if (at != std::end(kMeanings)) return at->meaning;
  switch (status) {
    case 401:
    case 403:
    case 404:
    case 409:
      return ErrorCode::kUnavailable;
    case 408:
      return ErrorCode::kTimeout;
    case 412:
      return ErrorCode::kConflict;
    case 429:
    case 503:
      return ErrorCode::kThrottled;
    case 501:
      return ErrorCode::kInvalid;
    case 507:
      return ErrorCode::kExhausted;
    default:
      return status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kInvalid;
  }
}

// What people can do about it.
std::string_view advice_for(int status, std::string_view code) {
  if (code == "NoSuchBucket") return "; create the bucket, or correct object.store.url";
  if (code == "RequestTimeTooSkewed") return "; the clock of this machine is wrong";
  if (code == "SignatureDoesNotMatch" || code == "InvalidAccessKeyId") {
    return "; check the keys, and the region";
  }
  if (code == "AuthorizationHeaderMalformed" || status == 301 || status == 307) {
    return "; check region and endpoint in object.store.url";
  }
  if (status == 403) {
    return "; the keys need s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket there";
  }
  return "";
}

bool keys_are_refused(std::string_view code) {
  return code == "ExpiredToken" || code == "InvalidToken" || code == "InvalidAccessKeyId" ||
         code == "TokenRefreshRequired";
}

std::string name_of(const S3Request& request) {
  std::string query = request.key.empty() && !request.query.empty()
                          ? "?" + request.query.front().first
                          : std::string();
  return fmt::format("{} {}{}", request.method, request.key, query);
}

}  // namespace

Error S3Client::error_of(std::string_view what, int status, const ErrorBody& body) const {
  std::string message = fmt::format("{} in {}: {}", what, target_.describe(), status);
  if (!body.code.empty()) message += " " + body.code;
  if (!body.message.empty()) message += ": " + body.message.substr(0, kMaxText);
  if (!body.request_id.empty()) message += fmt::format(" (request {})", body.request_id);
  message += advice_for(status, body.code);
  return {meaning_of(status, body.code), std::move(message)};
}

Error S3Client::refusal(const std::string& what, const net::HttpAnswer& answer) const {
  ErrorBody body = parse_error(answer.body.bytes()).value_or(ErrorBody());
  if (body.request_id.empty()) {
    body.request_id = answer.header(std::string(target_.dialect.header_prefix) + "request-id");
  }
  std::string_view region = answer.header("x-amz-bucket-region");
  if (!region.empty() && region != target_.region) {
    body.message += fmt::format(" (the bucket is in region {}, not {})", region, target_.region);
  }
  return error_of(what, answer.status, body);
}

net::HttpCall S3Client::sign(S3Request request, const Credentials& credentials) const {
  const Dialect& dialect = target_.dialect;
  const SigningScope scope{dialect, target_.region, clock_.wall_ms()};
  const std::string prefix(dialect.header_prefix);
  // Over TLS nobody can change the body, and its checksum is signed; else the body is.
  std::string hash =
      target_.origin.tls ? std::string(kUnsignedPayload) : to_hex(sha256(request.body));
  net::HttpHeaders headers = std::move(request.headers);
  headers.emplace_back(prefix + "content-sha256", hash);
  headers.emplace_back(prefix + "date", signing_time(scope.now_ms));
  if (!credentials.session_token.empty()) {
    headers.emplace_back(dialect.token_header, credentials.session_token.reveal());
  }
  std::string path = target_.bucket_path + "/" + uri_encode(request.key, true);
  if (request.key.empty() && !target_.bucket_path.empty()) path = target_.bucket_path;
  const std::string query = canonical_query(std::move(request.query));
  headers.emplace_back("host", net::authority(target_.origin));
  std::string signature =
      authorization({request.method, path, query, headers, hash}, credentials, scope);
  headers.pop_back();  // the HTTP client writes it
  headers.emplace_back("authorization", std::move(signature));
  return {.method = std::move(request.method),
          .target = query.empty() ? path : path + "?" + query,
          .headers = std::move(headers),
          .body = std::move(request.body),
          .answer_max = request.answer_max,
          .repeatable = request.repeatable};
}

Task<Result<net::HttpAnswer>> S3Client::send(S3Request request, int also) {
  WEIR_CO_TRY(CredentialCache::Handle keys, co_await credentials_.get());
  const std::string what = name_of(request);
  Result<net::HttpAnswer> answer = co_await http_.call(sign(std::move(request), *keys));
  if (!answer) co_return std::unexpected(answer.error().in(what));
  if ((answer->status >= 200 && answer->status < 300) || answer->status == also) co_return answer;
  auto body = parse_error(answer->body.bytes());
  if (body && keys_are_refused(body->code)) credentials_.reject(keys);
  co_return std::unexpected(refusal(what, *answer));
}

}  // namespace weir::storage::s3
