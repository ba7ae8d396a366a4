#include "kafka/protocol/frame.h"

#include "kafka/protocol/messages/api_versions.h"
#include "kafka/protocol/messages/produce.h"

#include <gtest/gtest.h>

namespace weir::kafka {
namespace {

TEST(Frame, ProduceRequestGoesThere) {
  ProduceRequest request;
  request.acks = -1;
  request.timeout_ms = 30000;
  request.topic_data.push_back(
      {.name = "t", .partition_data = {{.index = 3, .records = Slice::copy_of("abc")}}});
  Result<Chain> frame = request_frame(7, "me", request, 9);
  ASSERT_TRUE(frame);
  Slice whole = frame->flatten();
  Result<RequestFrame> parsed = parse_request(whole.sub(4));
  ASSERT_TRUE(parsed) << parsed.error().to_string();
  EXPECT_EQ(parsed->header.correlation_id, 7);
  EXPECT_EQ(parsed->header.client_id, "me");
  Result<ProduceRequest> again = decode<ProduceRequest>(parsed->body, 9);
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(to_json(*again, 9), to_json(request, 9));
  EXPECT_EQ(again->topic_data[0].partition_data[0].records->owner(), whole.owner());
}

}  // namespace
}  // namespace weir::kafka
