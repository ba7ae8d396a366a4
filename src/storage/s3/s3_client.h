// Sends single requests to an S3 store: addressed, signed anew each time, answered with a value or
// an error that says what the store said. No retries: storage/retrying_store.h makes them.
//
// Thread-safe, as net::HttpClient is. Errors: kNotFound (no such key), kConflict (a condition did
// not hold), kInvalid (the store refuses the request as it is), kThrottled, kTimeout, kUnavailable
// (the store, the bucket, or the right to use it is missing: all of them may come back), kExhausted
// (a quota).
#pragma once
#include "net/http_client.h"
#include "runtime/clock.h"
#include "storage/s3/credential_cache.h"
#include "storage/s3/location.h"
#include "storage/s3/messages.h"

#include <string>

namespace weir::storage::s3 {

struct S3Request {
  std::string method;
  std::string key;  // in the bucket, with the prefix; empty: the bucket
  Query query;
  net::HttpHeaders headers;  // names in lower case; all are signed
  Chain body;
  ByteCount answer_max = 4_MiB;
  bool repeatable = true;  // see net::HttpCall
};

class S3Client {
 public:
  S3Client(Target target, net::HttpClient& http, CredentialCache& credentials, Clock& clock)
      : target_(std::move(target)), http_(http), credentials_(credentials), clock_(clock) {}

  // The answer, when its status is 2xx, or `also`.
  Task<Result<net::HttpAnswer>> send(S3Request request, int also = 0);
  [[nodiscard]] const Target& target() const { return target_; }
  // The error for something that the store refused, in an answer to `what`.
  [[nodiscard]] Error error_of(std::string_view what, int status, const ErrorBody& body) const;

 private:
  net::HttpCall sign(S3Request request, const Credentials& credentials) const;
  [[nodiscard]] Error refusal(const std::string& what, const net::HttpAnswer& answer) const;

  const Target target_;
  net::HttpClient& http_;
  CredentialCache& credentials_;
  Clock& clock_;
};

}  // namespace weir::storage::s3
