#include "storage/memory_store.h"

#include "storage/object_store_contract.h"

namespace weir::storage {
namespace {

class MemoryFixture final : public StoreFixture {
 public:
  ObjectStore& store() override { return store_; }

 private:
  ManualClock clock_;
  MemoryStore store_{clock_};
};

INSTANTIATE_TEST_SUITE_P(Memory, ObjectStoreContract,
                         testing::Values(StoreKind{
                             "memory", [] { return std::make_unique<MemoryFixture>(); }}));

TEST(MemoryStore, TellsTheTimeOfThePut) {
  ManualClock clock(1'700'000'000'123);
  MemoryStore store(clock);
  ASSERT_TRUE(run_task(store.put("k", Chain(Slice::copy_of("x")), {})));
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(run_task(store.head("k"))->modified_ms, 1'700'000'000'123);
  EXPECT_EQ(store.size(), 1U);
}

}  // namespace
}  // namespace weir::storage
