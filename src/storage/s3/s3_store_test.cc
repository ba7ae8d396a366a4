#include "storage/s3/s3_store.h"

#include "storage/object_store_contract.h"
#include "storage/retrying_store.h"
#include "storage/s3/fake_s3.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::storage::s3 {
namespace {

using net::FakeReply;
using net::FakeRequest;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Gives the first keys once, others the next time.
class CountingSource final : public CredentialSource {
 public:
  explicit CountingSource(int& fetched) : fetched_(fetched) {}
  Task<Result<Credentials>> fetch() override {
    co_return Credentials{.access_key = fmt::format("AK{}", ++fetched_),
                          .secret_key = Secret("sesame"),
                          .session_token = Secret("token")};
  }

 private:
  int& fetched_;
};

constexpr const char* kUrl = "s3://bucket/pre/fix?endpoint=http://store:81";

// A store over a fake bucket. Requests go through `fault` first.
class Bench {
 public:
  explicit Bench(const std::string& url = kUrl, const S3StoreOptions& options = {})
      : store_(*resolve(*parse_location(url), std::nullopt), make_parts(), clock, Rng(1), options) {
  }

  ManualClock clock;
  FakeS3 s3{clock, "bucket"};
  // What the server does instead of its work; null: its work.
  std::function<std::optional<FakeReply>(const FakeRequest&)> fault;
  int keys_fetched = 0;
  net::FakeHttp* http = nullptr;

  S3Store& store() { return store_; }
  const FakeRequest& last() { return http->seen().back(); }

 private:
  S3Parts make_parts() {
    auto connector = std::make_unique<net::FakeHttp>(clock, [this](const FakeRequest& request) {
      auto instead = fault ? fault(request) : std::nullopt;
      return instead ? *instead : s3.answer(request);
    });
    http = connector.get();
    return {.connector = std::move(connector),
            .key_connector = nullptr,
            .credentials = std::make_unique<CredentialCache>(
                std::make_unique<CountingSource>(keys_fetched), clock)};
  }

  S3Store store_;
};

class FakeS3Fixture final : public StoreFixture {
 public:
  explicit FakeS3Fixture(std::size_t page_max) { bench_.s3.page_max = page_max; }
  ObjectStore& store() override { return bench_.store(); }

 private:
  Bench bench_;
};

INSTANTIATE_TEST_SUITE_P(
    FakeS3, ObjectStoreContract,
    testing::Values(StoreKind{"s3", [] { return std::make_unique<FakeS3Fixture>(1000); }, false},
                    StoreKind{"s3_small_pages", [] { return std::make_unique<FakeS3Fixture>(3); },
                              false}));

class S3StoreTest : public testing::Test {
 protected:
  template <typename T>
  T run(Task<T> task) {
    return run_in_time(context_, bench_.clock, std::move(task), milliseconds(100));
  }
  Status put(const std::string& key, std::string_view body, PutOptions options = {}) {
    return run(store().put(key, Chain(Slice::copy_of(body)), options));
  }
  std::string get(const std::string& key) {
    auto body = run(store().get(key));
    return body ? std::string(as_text(body->bytes())) : body.error().to_string();
  }
  // Every request is answered so.
  void answer(const FakeReply& reply) {
    bench_.fault = [reply](const FakeRequest&) { return reply; };
  }
  Error error_of(const FakeReply& reply) {
    answer(reply);
    auto got = run(store().get("k"));
    EXPECT_FALSE(got);
    return got ? Error{} : got.error();
  }
  S3Store& store() { return bench_.store(); }

  boost::asio::io_context context_;
  Bench bench_;
};

TEST_F(S3StoreTest, APutIsOneRequestWithChecksumAndSignature) {
  Chain body(Slice::copy_of("1234"));
  body.append(Slice::copy_of("56789"));
  ASSERT_TRUE(run(store().put("data/a", body, {.if_absent = true})));
  const FakeRequest& sent = bench_.last();
  EXPECT_EQ(sent.method, "PUT");
  EXPECT_EQ(sent.target, "/bucket/pre/fix/data/a");
  EXPECT_EQ(sent.body, "123456789");
  EXPECT_EQ(sent.header("host"), "store:81");
  // RFC 3720's check value E3069283.
  EXPECT_EQ(sent.header("x-amz-checksum-crc32c"), "4waSgw==");
  EXPECT_EQ(sent.header("if-none-match"), "*");
  EXPECT_EQ(sent.header("x-amz-security-token"), "token");
  EXPECT_EQ(sent.header("x-amz-date"), "20231114T221320Z");
  EXPECT_EQ(sent.header("x-amz-content-sha256"), to_hex(sha256(as_bytes("123456789"))));
  EXPECT_TRUE(sent.header("authorization")
                  .starts_with("AWS4-HMAC-SHA256 Credential=AK1/20231114/us-east-1/s3/aws4_request,"
                               " SignedHeaders=host;if-none-match;x-amz-checksum-crc32c;"
                               "x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature="))
      << sent.header("authorization");
}

TEST_F(S3StoreTest, OverTlsTheBodyIsNotHashed) {
  Bench bench("s3://bucket?region=eu-west-1");
  EXPECT_FALSE(run_in_time(context_, bench.clock, bench.store().put("k", Chain(), {})));
  EXPECT_EQ(bench.last().header("x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
  EXPECT_EQ(bench.last().target, "/k");
  EXPECT_EQ(bench.last().origin, (net::Origin{true, "bucket.s3.eu-west-1.amazonaws.com", 443}));
}

TEST_F(S3StoreTest, GoogleIsSpokenToInItsOwnWords) {
  Bench bench("s3://bucket?endpoint=https://storage.googleapis.com");
  bench.fault = [](const FakeRequest&) { return FakeReply{.headers = {{"ETag", "\"1\""}}}; };
  auto put = bench.store().put("k", Chain(Slice::copy_of("123456789")), {.if_absent = true});
  EXPECT_TRUE(run_in_time(context_, bench.clock, std::move(put)));
  const FakeRequest sent = bench.last();
  EXPECT_EQ(sent.header("x-goog-if-generation-match"), "0");
  EXPECT_EQ(sent.header("x-goog-hash"), "crc32c=4waSgw==");
  EXPECT_TRUE(
      sent.header("authorization")
          .starts_with("GOOG4-HMAC-SHA256 Credential=AK1/20231114/auto/storage/goog4_request"));
  for (const auto& [name, value] : sent.headers) EXPECT_FALSE(name.starts_with("x-amz-")) << name;
  bench.http->forget();
  EXPECT_TRUE(run_in_time(context_, bench.clock, bench.store().remove({"a", "b"})));
  ASSERT_EQ(bench.http->seen().size(), 2U);
  EXPECT_EQ(bench.http->seen()[0].method, "DELETE");
}

TEST_F(S3StoreTest, RefusalsBecomeErrorsThatSayWhatTheStoreSaid) {
  Error slow = error_of(s3_error(503, "SlowDown", "Please reduce your request rate."));
  EXPECT_EQ(slow.message,
            "GET pre/fix/k in bucket bucket at http://store:81: 503 SlowDown: Please reduce your "
            "request rate. (request R-1)");
  struct Case {
    FakeReply reply;
    ErrorCode code;
  };
  const Case cases[] = {{s3_error(503, "SlowDown"), ErrorCode::kThrottled},
                        {s3_error(500, "InternalError"), ErrorCode::kUnavailable},
                        {{.status = 502, .body = "<html>gateway</html>"}, ErrorCode::kUnavailable},
                        {{.status = 503}, ErrorCode::kThrottled},
                        {{.status = 404, .body = "<html>no page</html>"}, ErrorCode::kUnavailable},
                        {s3_error(404, "NoSuchKey"), ErrorCode::kNotFound},
                        {s3_error(404, "NoSuchBucket"), ErrorCode::kUnavailable},
                        {s3_error(403, "AccessDenied"), ErrorCode::kUnavailable},
                        {s3_error(400, "RequestTimeout"), ErrorCode::kTimeout},
                        {s3_error(400, "BadDigest"), ErrorCode::kUnavailable},
                        {s3_error(400, "InvalidArgument"), ErrorCode::kInvalid},
                        {s3_error(409, "ConditionalRequestConflict"), ErrorCode::kUnavailable},
                        {s3_error(412, "PreconditionFailed"), ErrorCode::kConflict},
                        {s3_error(501, "NotImplemented"), ErrorCode::kInvalid},
                        {s3_error(301, "PermanentRedirect"), ErrorCode::kInvalid}};
  for (const Case& one : cases) EXPECT_EQ(error_of(one.reply).code, one.code) << one.reply.body;
  EXPECT_NE(error_of(s3_error(404, "NoSuchBucket")).message.find("create the bucket"),
            std::string::npos);
  FakeReply elsewhere = s3_error(301, "PermanentRedirect");
  elsewhere.headers.emplace_back("x-amz-bucket-region", "eu-west-1");
  EXPECT_NE(error_of(elsewhere).message.find("in region eu-west-1, not us-east-1"),
            std::string::npos);
  EXPECT_EQ(error_of(s3_error(403, "AccessDenied")).message.find("sesame"), std::string::npos);
}

TEST_F(S3StoreTest, AMissingBucketIsNoMissingObject) {
  EXPECT_EQ(run(store().head("k")).error().code, ErrorCode::kNotFound);
  answer(s3_error(404, "NoSuchBucket"));
  EXPECT_EQ(run(store().head("k")).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(run(store().remove({"k"})).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(run(store().list("", "", 1)).error().code, ErrorCode::kUnavailable);
}

// A proxy that wants a login, a web server at the wrong port.
TEST_F(S3StoreTest, WhoeverSaysYesToEverythingIsNoStore) {
  answer({.headers = {{"Content-Type", "text/html"}}, .body = "<html>login</html>"});
  EXPECT_EQ(put("k", "body").error().code, ErrorCode::kUnavailable);
}

TEST_F(S3StoreTest, ATruncatedOrDamagedBodyIsNeverData) {
  const std::string body(3000, 'x');
  ASSERT_TRUE(put("k", body));
  for (std::size_t cut = 0; cut <= 3000; cut += 250) {
    bench_.fault = [&](const FakeRequest& request) {
      FakeReply reply = bench_.s3.answer(request);
      reply.cut_at = cut;
      return reply;
    };
    EXPECT_EQ(run(store().get("k")).error().code, ErrorCode::kUnavailable) << cut;
    EXPECT_EQ(run(store().get_range("k", {0, 2900})).error().code, ErrorCode::kUnavailable) << cut;
  }
  bench_.fault = [&](const FakeRequest& request) {
    FakeReply reply = bench_.s3.answer(request);
    reply.body[17] ^= 1;
    return reply;
  };
  EXPECT_EQ(run(store().get("k")).error().code, ErrorCode::kUnavailable);
  // The checksum of an object's parts says nothing about its bytes.
  answer({.headers = {{"x-amz-checksum-crc32c", "4waSgw==-2"}}, .body = "ab"});
  EXPECT_EQ(get("k"), "ab");
  // Unmarked, it is known by the ETag, unless the store says that it is the whole object's.
  const net::HttpHeaders of_parts = {{"x-amz-checksum-crc32c", "4waSgw=="}, {"ETag", "\"1f-2\""}};
  answer({.headers = of_parts, .body = "ab"});
  EXPECT_EQ(get("k"), "ab");
  net::HttpHeaders of_all = of_parts;
  of_all.emplace_back("x-amz-checksum-type", "FULL_OBJECT");
  answer({.headers = of_all, .body = "ab"});
  EXPECT_EQ(run(store().get("k")).error().code, ErrorCode::kUnavailable);
}

TEST_F(S3StoreTest, RangesThatTheStoreGetsWrong) {
  auto range = [&](const FakeReply& reply) {
    answer(reply);
    auto got = run(store().get_range("k", {2, 3}));
    return got ? std::string(as_text(got->bytes())) : std::string(to_string(got.error().code));
  };
  auto partial = [](const std::string& header, const std::string& body) {
    return FakeReply{.status = 206, .headers = {{"Content-Range", header}}, .body = body};
  };
  EXPECT_EQ(range(partial("bytes 2-4/9", "234")), "234");
  EXPECT_EQ(range({.body = "0123456"}), "234");
  EXPECT_EQ(range({.body = "012"}), "invalid");
  EXPECT_EQ(range(partial("bytes 2-3/4", "23")), "invalid");
  EXPECT_EQ(range(partial("bytes 0-2/9", "012")), "unavailable");
  EXPECT_EQ(range(partial("bytes 2-4/9", "23")), "unavailable");
  EXPECT_EQ(range(partial("bytes 2-4", "234")), "unavailable");
  EXPECT_EQ(range(partial("bytes 2-9/9", "23456789")), "unavailable");
  EXPECT_EQ(range({.status = 206, .body = "234"}), "unavailable");
  EXPECT_EQ(range(s3_error(416, "InvalidRange")), "invalid");
}

TEST_F(S3StoreTest, GarbageInListingsAndDeletesIsAnError) {
  const char* bad[] = {
      "",
      "no xml",
      "<ListBucketResult>",
      "<DeleteResults/>",
      "<Error/>",
      "<ListBucketResult><IsTruncated>maybe</IsTruncated></ListBucketResult>",
      "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
      "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>k</Key><Size>x</Size>"
      "<LastModified>2009-10-12T17:50:30.000Z</LastModified></Contents></ListBucketResult>",
      "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>k</Key><Size>1</Size>"
      "<LastModified>yesterday</LastModified></Contents></ListBucketResult>"};
  for (const char* body : bad) {
    answer({.body = body});
    EXPECT_EQ(run(store().list("", "", 10)).error().code, ErrorCode::kUnavailable) << body;
    EXPECT_EQ(run(store().remove({"a", "b"})).error().code, ErrorCode::kUnavailable) << body;
  }
}

TEST_F(S3StoreTest, AListingThatGoesNowhereEnds) {
  answer({.body = "<ListBucketResult><IsTruncated>true</IsTruncated>"
                  "<NextContinuationToken>again</NextContinuationToken></ListBucketResult>"});
  EXPECT_EQ(run(store().list("", "", 10)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(bench_.http->seen().size(), 1000U);
}

TEST_F(S3StoreTest, ObjectsOfOthersAreNotListed) {
  bench_.s3.objects["pre/fix/not a key"] = {};
  bench_.s3.objects["pre/fixed"] = {};
  bench_.s3.objects["other"] = {};
  ASSERT_TRUE(put("a", "x"));
  auto page = run(store().list("", "", 10));
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->objects.size(), 1U);
  EXPECT_EQ(page->objects[0].key, "a");
}

TEST_F(S3StoreTest, RemovesAThousandAtATimeAndNamesWhatFails) {
  std::vector<std::string> keys;
  for (int i = 0; i < 1001; ++i) {
    keys.push_back(fmt::format("k{}", i));
    bench_.s3.objects["pre/fix/" + keys.back()] = {};
  }
  ASSERT_TRUE(run(store().remove(keys)));
  EXPECT_TRUE(bench_.s3.objects.empty());
  EXPECT_EQ(bench_.http->seen().size(), 2U);
  answer({.body = "<DeleteResult><Error><Key>pre/fix/a</Key><Code>AccessDenied</Code>"
                  "<Message>no</Message></Error></DeleteResult>"});
  Status done = run(store().remove({"a", "b"}));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(done.error().message.find("DELETE pre/fix/a"), std::string::npos);
}

TEST_F(S3StoreTest, RefusedKeysAreFetchedAnew) {
  EXPECT_EQ(error_of(s3_error(400, "ExpiredToken")).code, ErrorCode::kUnavailable);
  bench_.fault = nullptr;
  ASSERT_TRUE(put("k", "x"));
  EXPECT_TRUE(bench_.last().header("authorization").contains("Credential=AK2/"));
  ASSERT_TRUE(put("k", "x"));
  EXPECT_EQ(bench_.keys_fetched, 2);
}

class S3MultipartTest : public S3StoreTest {
 protected:
  S3MultipartTest() {
    for (int i = 0; i < 100; ++i) body_.append(Slice::copy_of(fmt::format("{:0>10}", i)));
  }
  Status put_large() {
    return run_in_time(context_, large_.clock, large_.store().put("big", body_, {}));
  }
  std::size_t count(std::string_view method, std::string_view part) {
    return static_cast<std::size_t>(
        std::ranges::count_if(large_.http->seen(), [&](const FakeRequest& request) {
          return request.method == method && request.target.contains(part);
        }));
  }

  Chain body_;
  Bench large_{kUrl, {.multipart_above = 500, .part_size = 96}};
};

TEST_F(S3MultipartTest, LargeObjectsGoUpInParts) {
  ASSERT_TRUE(put_large());
  EXPECT_EQ(large_.s3.objects["pre/fix/big"].body, as_text(body_.flatten().bytes()));
  EXPECT_EQ(count("PUT", "partNumber="), 11U);
  EXPECT_EQ(count("PUT", "/big?partNumber=3&uploadId=u%2B1"), 1U);
  // A condition and a small body do not.
  large_.http->forget();
  ASSERT_TRUE(run(large_.store().put("cond", body_, {.if_absent = true})));
  EXPECT_EQ(large_.http->seen().size(), 1U);
}

TEST_F(S3MultipartTest, AFailedPartIsSentAgain) {
  int failures = 2;
  large_.fault = [&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (!request.target.contains("partNumber=4") || failures-- <= 0) return std::nullopt;
    return s3_error(503, "SlowDown");
  };
  ASSERT_TRUE(put_large());
  EXPECT_EQ(large_.s3.objects["pre/fix/big"].body, as_text(body_.flatten().bytes()));
  EXPECT_EQ(count("PUT", "partNumber="), 13U);
}

TEST_F(S3MultipartTest, AFailedUploadIsGivenUp) {
  for (const char* what : {"partNumber=4", "POST uploadId"}) {
    large_.http->forget();
    large_.fault = [&](const FakeRequest& request) -> std::optional<FakeReply> {
      bool is_it = std::string_view(what).starts_with("POST")
                       ? request.method == "POST" && request.target.contains("uploadId")
                       : request.target.contains(what);
      if (!is_it) return std::nullopt;
      FakeReply reply = s3_error(500, "InternalError");
      if (request.method == "POST") reply.status = 200;  // as S3 does
      return reply;
    };
    Status done = put_large();
    ASSERT_FALSE(done) << what;
    EXPECT_EQ(done.error().code, ErrorCode::kUnavailable) << done.error().message;
    EXPECT_EQ(count("DELETE", "uploadId="), 1U);
    EXPECT_TRUE(large_.s3.objects.empty());
  }
}

// With the retries on top, as the broker has it.
class RetriedS3Test : public S3StoreTest {
 protected:
  RetryingStore retrying_{store(), bench_.clock, Rng(2), {}};
};

TEST_F(RetriedS3Test, AStormOfRefusalsPasses) {
  int requests = 0;
  bench_.fault = [&](const FakeRequest&) -> std::optional<FakeReply> {
    ++requests;
    if (bench_.clock.wall_ms() < 1'700'000'008'000) return s3_error(503, "SlowDown");
    return std::nullopt;
  };
  ASSERT_TRUE(run(retrying_.put("k", Chain(Slice::copy_of("x")), {})));
  EXPECT_GE(requests, 4);
  EXPECT_LE(requests, 20);
}

TEST_F(RetriedS3Test, AConditionalPutWhoseAnswerIsLostSucceeds) {
  bool lost = false;
  bench_.fault = [&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.method != "PUT" || std::exchange(lost, true)) return std::nullopt;
    FakeReply reply = bench_.s3.answer(request);
    reply.cut_at = 0;
    return reply;
  };
  ASSERT_TRUE(run(retrying_.put("log/1", Chain(Slice::copy_of("mine")), {.if_absent = true})));
  EXPECT_EQ(bench_.s3.objects["pre/fix/log/1"].body, "mine");
  // On a connection that was kept, too: there the client sends what may be repeated by itself.
  lost = false;
  ASSERT_TRUE(run(retrying_.put("log/2", Chain(Slice::copy_of("mine")), {.if_absent = true})));
  bench_.s3.objects["pre/fix/log/3"] = {"hers", 0};
  lost = false;
  Status done = run(retrying_.put("log/3", Chain(Slice::copy_of("mine")), {.if_absent = true}));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kConflict);
}

TEST_F(RetriedS3Test, ASlowBodyAndASilentStoreAreTriedAgain) {
  ASSERT_TRUE(put("k", std::string(1000, 'x')));
  int hung = 0;
  bench_.fault = [&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (hung++ >= 2) return std::nullopt;
    FakeReply reply = bench_.s3.answer(request);
    reply.cut_at = hung == 1 ? 0 : 700;
    reply.hang_after_cut = true;
    return reply;
  };
  auto got = run(retrying_.get("k"));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->size(), 1000U);
  EXPECT_EQ(hung, 3);
}

}  // namespace
}  // namespace weir::storage::s3
