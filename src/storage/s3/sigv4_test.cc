// Every expected value is one that Amazon publishes: the examples of "Signature Calculations for
// the Authorization Header" in the S3 API reference, and of "Derive a signing key" in the General
// Reference.
#include "storage/s3/sigv4.h"

#include <gtest/gtest.h>

namespace weir::storage::s3 {
namespace {

const std::string kEmptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr TimestampMs kMay24 = 1'369'353'600'000;  // 2013-05-24T00:00:00Z

Credentials example_keys() {
  return {.access_key = "AKIAIOSFODNN7EXAMPLE",
          .secret_key = Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")};
}

std::string sign(std::string_view method, std::string_view path, Query query,
                 net::HttpHeaders headers, const std::string& hash) {
  headers.emplace_back("host", "examplebucket.s3.amazonaws.com");
  headers.emplace_back("x-amz-content-sha256", hash);
  headers.emplace_back("x-amz-date", "20130524T000000Z");
  std::string text = canonical_query(std::move(query));
  return authorization({method, path, text, headers, hash}, example_keys(),
                       {kAmazon, "us-east-1", kMay24});
}

std::string expected(std::string_view names, std::string_view signature) {
  return "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
         "SignedHeaders=" +
         std::string(names) + ", Signature=" + std::string(signature);
}

TEST(SigV4, SignsARangedGet) {
  EXPECT_EQ(sign("GET", "/test.txt", {}, {{"range", "bytes=0-9"}}, kEmptyHash),
            expected("host;range;x-amz-content-sha256;x-amz-date",
                     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
}

TEST(SigV4, SignsAPut) {
  std::string hash = to_hex(sha256(as_bytes("Welcome to Amazon S3.")));
  EXPECT_EQ(hash, "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  EXPECT_EQ(sign("PUT", "/" + uri_encode("test$file.text", true), {},
                 {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                  {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                 hash),
            expected("date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST(SigV4, SignsAQueryWithoutAValue) {
  EXPECT_EQ(sign("GET", "/", {{"lifecycle", ""}}, {}, kEmptyHash),
            expected("host;x-amz-content-sha256;x-amz-date",
                     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST(SigV4, SignsAListing) {
  EXPECT_EQ(sign("GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}, {}, kEmptyHash),
            expected("host;x-amz-content-sha256;x-amz-date",
                     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(SigV4, WritesTheCanonicalRequestOfTheExample) {
  net::HttpHeaders headers = {{"x-amz-date", "20130524T000000Z"},
                              {"range", " bytes=0-9 "},
                              {"x-amz-content-sha256", kEmptyHash},
                              {"host", "examplebucket.s3.amazonaws.com"}};
  EXPECT_EQ(canonical_request({"GET", "/test.txt", "", headers, kEmptyHash}),
            "GET\n/test.txt\n\nhost:examplebucket.s3.amazonaws.com\nrange:bytes=0-9\n"
            "x-amz-content-sha256:" +
                kEmptyHash +
                "\nx-amz-date:20130524T000000Z\n\n"
                "host;range;x-amz-content-sha256;x-amz-date\n" +
                kEmptyHash);
}

TEST(SigV4, DerivesTheKeyOfTheExample) {
  Dialect iam = kAmazon;
  iam.service = "iam";
  EXPECT_EQ(to_hex(signing_key(Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
                               {iam, "us-east-1", 1'440'938'160'000})),
            "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9");
}

TEST(SigV4, WritesTimeAndEncodedText) {
  EXPECT_EQ(signing_time(kMay24), "20130524T000000Z");
  EXPECT_EQ(signing_time(1'440'938'160'999), "20150830T123600Z");
  EXPECT_EQ(uri_encode("a/b c+~\xC3\xA4=", true), "a/b%20c%2B~%C3%A4%3D");
  EXPECT_EQ(uri_encode("a/b", false), "a%2Fb");
  EXPECT_EQ(canonical_query({{"b", ""}, {"a", "2"}, {"a", "1/"}}), "a=1%2F&a=2&b=");
}

}  // namespace
}  // namespace weir::storage::s3
