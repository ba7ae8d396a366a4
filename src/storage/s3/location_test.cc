#include "storage/s3/location.h"

#include <gtest/gtest.h>

namespace weir::storage::s3 {
namespace {

std::string error_of(const std::string& url) {
  auto location = parse_location(url);
  if (location) return "accepted";
  EXPECT_EQ(location.error().code, ErrorCode::kInvalid);
  return location.error().message;
}

Target target_of(const std::string& url, std::optional<std::string> region = std::nullopt) {
  auto location = parse_location(url);
  EXPECT_TRUE(location) << location.error().message;
  auto target = resolve(*location, std::move(region));
  EXPECT_TRUE(target) << target.error().message;
  return *target;
}

TEST(S3Location, HasAllThatTheUrlSays) {
  auto to = parse_location(
      "s3://b.k/a/b/?region=eu-west-1&endpoint=http%3A//h:81&path-style=false&ca=/x%20y&profile=p"
      "&dialect=gcs&connections=7");
  ASSERT_TRUE(to) << to.error().message;
  EXPECT_EQ(to->bucket, "b.k");
  EXPECT_EQ(to->prefix, "a/b/");
  EXPECT_EQ(to->region, "eu-west-1");
  EXPECT_EQ(to->endpoint, (net::Origin{false, "h", 81}));
  EXPECT_EQ(to->path_style, false);
  EXPECT_EQ(to->ca_file, "/x y");
  EXPECT_EQ(to->profile, "p");
  EXPECT_EQ(to->dialect, &kGoogle);
  EXPECT_EQ(to->connections, 7U);
  EXPECT_EQ(parse_location("s3://bucket")->prefix, "");
  EXPECT_EQ(parse_location("s3://bucket/")->prefix, "");
}

TEST(S3Location, ErrorsNameTheParameter) {
  EXPECT_NE(error_of("s3://").find("no name of a bucket"), std::string::npos);
  EXPECT_NE(error_of("s3://key:secret@bucket").find("must not have keys"), std::string::npos);
  EXPECT_EQ(error_of("s3://key:secret@bucket").find("secret"), std::string::npos);
  EXPECT_NE(error_of("s3://b/a b").find("prefix"), std::string::npos);
  EXPECT_NE(error_of("s3://b/a//b").find("prefix"), std::string::npos);
  EXPECT_NE(error_of("s3://b/" + std::string(200, 'a') + "/" + std::string(200, 'b')).find("401"),
            std::string::npos);
  EXPECT_NE(error_of("s3://b?regoin=x").find("no parameter 'regoin'; there are region, endpoint"),
            std::string::npos);
  EXPECT_NE(error_of("s3://b?region=").find("region has no value"), std::string::npos);
  EXPECT_NE(error_of("s3://b?region=a/b").find("region 'a/b'"), std::string::npos);
  EXPECT_NE(error_of("s3://b?endpoint=h:80").find("endpoint 'h:80' must be http://"),
            std::string::npos);
  EXPECT_NE(error_of("s3://b?endpoint=http://h/x").find("without a path"), std::string::npos);
  EXPECT_NE(error_of("s3://b?path-style=yes").find("true or false"), std::string::npos);
  EXPECT_NE(error_of("s3://b?dialect=minio").find("s3 or gcs"), std::string::npos);
  EXPECT_NE(error_of("s3://b?connections=0").find("1 to 1000"), std::string::npos);
  EXPECT_NE(error_of("s3://b?ca=%2").find("'%'"), std::string::npos);
}

TEST(S3Location, AmazonIsTheDefault) {
  Target to = target_of("s3://bucket/p?region=eu-west-1");
  EXPECT_EQ(net::to_string(to.origin), "https://bucket.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(to.bucket_path, "");
  EXPECT_EQ(to.region, "eu-west-1");
  EXPECT_EQ(&to.dialect, &kAmazon);
  EXPECT_EQ(target_of("s3://b", "cn-north-1").origin.host, "b.s3.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(target_of("s3://b?region=x", "y").region, "x");
  Target dots = target_of("s3://b.k?region=x");
  EXPECT_EQ(dots.origin.host, "s3.x.amazonaws.com");
  EXPECT_EQ(dots.bucket_path, "/b.k");
  auto nowhere = resolve(*parse_location("s3://b"), std::nullopt);
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("AWS_REGION"), std::string::npos);
}

TEST(S3Location, EndpointsHaveTheirOwnDefaults) {
  Target to = target_of("s3://b?endpoint=http://127.0.0.1:9000");
  EXPECT_EQ(to.region, "us-east-1");
  EXPECT_EQ(to.bucket_path, "/b");
  EXPECT_EQ(to.describe(), "bucket b at http://127.0.0.1:9000");
  EXPECT_EQ(target_of("s3://b?endpoint=http://h&path-style=false").origin.host, "b.h");
  Target google = target_of("s3://b?endpoint=https://storage.googleapis.com");
  EXPECT_EQ(&google.dialect, &kGoogle);
  EXPECT_EQ(google.region, "auto");
  EXPECT_EQ(&target_of("s3://b?endpoint=https://storage.googleapis.com&dialect=s3").dialect,
            &kAmazon);
}

}  // namespace
}  // namespace weir::storage::s3
