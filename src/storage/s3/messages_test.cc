#include "storage/s3/messages.h"

#include "storage/s3/checksum.h"

#include <gtest/gtest.h>

namespace weir::storage::s3 {
namespace {

// The examples of the S3 API reference: Error Responses, ListObjectsV2.
TEST(S3Messages, ReadsTheExamplesOfTheReference) {
  auto error = parse_error(as_bytes(R"(<?xml version="1.0" encoding="UTF-8"?>
<Error>
  <Code>NoSuchKey</Code>
  <Message>The resource you requested does not exist</Message>
  <Resource>/amzn-s3-demo-bucket/myfoto.jpg</Resource>
  <RequestId>4442587FB7D0A2F9</RequestId>
</Error>)"));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "NoSuchKey");
  EXPECT_EQ(error->message, "The resource you requested does not exist");
  EXPECT_EQ(error->request_id, "4442587FB7D0A2F9");

  auto listing = parse_listing(as_bytes(R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
    <Name>amzn-s3-demo-bucket</Name>
    <Prefix/>
    <NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken>
    <KeyCount>1</KeyCount>
    <MaxKeys>1000</MaxKeys>
    <IsTruncated>true</IsTruncated>
    <Contents>
        <Key>my&amp;image.jpg</Key>
        <LastModified>2009-10-12T17:50:30.250Z</LastModified>
        <ETag>"fba9dede5f27731c9771645a39863328"</ETag>
        <Size>434234</Size>
        <StorageClass>STANDARD</StorageClass>
    </Contents>
</ListBucketResult>)"));
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_TRUE(listing->truncated);
  EXPECT_EQ(listing->token, "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=");
  ASSERT_EQ(listing->objects.size(), 1U);
  EXPECT_EQ(listing->objects[0].key, "my&image.jpg");
  EXPECT_EQ(listing->objects[0].size, 434234U);
  EXPECT_EQ(listing->objects[0].modified_ms, 1'255'369'830'250);
}

TEST(S3Messages, DoesNotResolveEntitiesOfADocument) {
  auto listing =
      parse_error(as_bytes("<!DOCTYPE Error [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>"
                           "<Error><Code>&x;</Code></Error>"));
  if (listing) EXPECT_EQ(listing->code, "&x;");
}

TEST(S3Messages, EscapesWhatItWrites) {
  EXPECT_EQ(delete_body({"a&b", "c"}),
            "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>"
            "<Object><Key>a&amp;b</Key></Object><Object><Key>c</Key></Object></Delete>");
  EXPECT_EQ(completion_body({{"\"e1\"", "AAAA"}, {"<2>", ""}}),
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Part>"
            "<ChecksumCRC32C>AAAA</ChecksumCRC32C><ETag>\"e1\"</ETag><PartNumber>1</PartNumber>"
            "</Part><Part><ETag>&lt;2&gt;</ETag><PartNumber>2</PartNumber></Part>"
            "</CompleteMultipartUpload>");
}

TEST(S3Messages, ReadsTimes) {
  EXPECT_EQ(parse_iso_time("2009-10-12T17:50:30Z"), 1'255'369'830'000);
  EXPECT_EQ(parse_iso_time("2009-10-12T17:50:30.123456Z"), 1'255'369'830'123);
  EXPECT_EQ(parse_http_time("Mon, 12 Oct 2009 17:50:30 GMT"), 1'255'369'830'000);
  for (const char* bad :
       {"", "2009-10-12", "2009-13-12T17:50:30Z", "2009-10-12T24:50:30Z", "2009-10-12T17:50:30",
        "2009-10-12T17:50:30.1Z", "20a9-10-12T17:50:30Z", "2009-02-30T17:50:30Z"}) {
    EXPECT_FALSE(parse_iso_time(bad)) << bad;
  }
  for (const char* bad : {"", "Mon, 12 Okt 2009 17:50:30 GMT", "Mon, 12 Oct 2009 17:50:30 UTC",
                          "Mon, 32 Oct 2009 17:50:30 GMT", "Mon, 12 anF 2009 17:50:30 GMT"}) {
    EXPECT_FALSE(parse_http_time(bad)) << bad;
  }
}

TEST(S3Checksum, ComparesOnlyWhatSpeaksOfTheBytes) {
  // RFC 3720's check value, and RFC 1321's digest of "abc".
  EXPECT_EQ(checksum_text(Chain(Slice::copy_of("123456789"))), "4waSgw==");
  EXPECT_EQ(md5_text(Chain(Slice::copy_of("abc"))), "kAFQmDzST7DWlj99KOF/cg==");
  Bytes body = as_bytes("123456789");
  EXPECT_TRUE(checksum_fits("", "", body));
  EXPECT_TRUE(checksum_fits("4waSgw==", "", body));
  EXPECT_FALSE(checksum_fits("4waSgg==", "", body));
  EXPECT_TRUE(checksum_fits("4waSgg==-2", "", body));
  EXPECT_TRUE(checksum_fits("md5=x, crc32c=4waSgw==", "crc32c=", body));
  EXPECT_FALSE(checksum_fits("md5=x, crc32c=4waSgg==", "crc32c=", body));
  EXPECT_TRUE(checksum_fits("md5=x", "crc32c=", body));
}

}  // namespace
}  // namespace weir::storage::s3
