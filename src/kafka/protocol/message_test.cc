#include "kafka/protocol/message.h"

#include "kafka/protocol/api.h"
#include "kafka/protocol/message_check.h"

#include <gtest/gtest.h>

namespace weir::kafka {
namespace {

TEST(Message, EveryMessageAndVersionGoesThereAndBack) {
  std::size_t versions = 0;
  for (const MessageCheck& check : message_checks()) {
    for (std::int16_t v = check.min_version; v <= check.max_version; ++v) {
      EXPECT_EQ(find_fault(check, v), "");
      ++versions;
    }
  }
  EXPECT_EQ(message_checks().size(), 2 * all_apis().size());
  EXPECT_GT(versions, 400U);
}

}  // namespace
}  // namespace weir::kafka
