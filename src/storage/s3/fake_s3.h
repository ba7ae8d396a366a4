// For tests: a bucket in memory that speaks as much of S3's protocol as s3_store.h uses, with path
// style. It does not look at signatures: those are proved by published examples and real stores.
#pragma once
#include "net/fake_http.h"
#include "runtime/clock.h"

#include <map>
#include <string>

namespace weir::storage::s3 {

class FakeS3 {
 public:
  FakeS3(Clock& clock, std::string bucket) : clock_(clock), bucket_(std::move(bucket)) {}

  net::FakeReply answer(const net::FakeRequest& request);

  struct Object {
    std::string body;
    TimestampMs modified_ms = 0;
  };
  std::map<std::string, Object> objects;
  // Listings have at most so many keys a page, whatever is asked for.
  std::size_t page_max = 1000;

 private:
  struct Upload {
    std::string key;
    std::map<int, std::string> parts;
  };
  using Params = std::map<std::string, std::string>;

  net::FakeReply put(const net::FakeRequest& request, const std::string& key);
  net::FakeReply get(const net::FakeRequest& request, const std::string& key);
  net::FakeReply list(const Params& params);
  net::FakeReply remove_many(const net::FakeRequest& request);
  net::FakeReply multipart(const net::FakeRequest& request, const std::string& key,
                           const Params& params);

  Clock& clock_;
  std::string bucket_;
  std::map<std::string, Upload> uploads_;
};

// An error as S3 writes it.
[[nodiscard]] net::FakeReply s3_error(int status, const std::string& code,
                                      const std::string& message = "as the test says");

}  // namespace weir::storage::s3
