#include "main/object_access.h"

#include "storage/wal_object.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr Uuid kOwn{1, 2};

Slice object_of(const storage::WalObjectId& id) {
  return storage::build_wal_object(id, {}).body.flatten();
}

TEST(CheckWriter, TakesOnlyWhatBelongsToTheKey) {
  const storage::ObjectKey key = storage::wal_object_key(7, 42);
  EXPECT_TRUE(check_writer(kOwn, key, object_of({kOwn, 7, 42}).bytes()));
  for (const storage::WalObjectId& other :
       {storage::WalObjectId{{3, 4}, 7, 42}, storage::WalObjectId{kOwn, 8, 42},
        storage::WalObjectId{kOwn, 7, 43}}) {
    const Status checked = check_writer(kOwn, key, object_of(other).bytes());
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(checked.error().message.find(key), std::string::npos) << checked.error().message;
  }
}

// Its batches have checksums, and may be whole.
TEST(CheckWriter, LeavesADamagedFooterToWhoReadsTheBatches) {
  const storage::ObjectKey key = storage::wal_object_key(7, 42);
  const Slice whole = object_of({{3, 4}, 7, 42});
  std::vector<std::byte> damaged(whole.bytes().begin(), whole.bytes().end());
  damaged.front() ^= std::byte{1};
  EXPECT_TRUE(check_writer(kOwn, key, damaged));
  EXPECT_TRUE(check_writer(kOwn, key, whole.bytes().first(10)));
}

}  // namespace
}  // namespace weir
