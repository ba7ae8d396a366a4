#include "cache/eviction.h"

#include "runtime/rng.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace weir::cache {
namespace {

constexpr ByteCount kObject = 10'000;  // charge of each, about

EntryPtr make_entry(const std::string& key) {
  return std::make_shared<CacheEntry>(
      CachedObject(key, Chain(Slice::of(std::vector<std::byte>(kObject - 1000)))));
}

class EvictionTest : public testing::Test {
 protected:
  // Room for `count` objects of this test.
  explicit EvictionTest(ByteCount count = 20)
      : eviction_(count * make_entry("k00")->object.charge()) {}

  EntryPtr own(const std::string& key) { return add(key, true); }
  EntryPtr read(const std::string& key) { return add(key, false); }
  bool holds(const std::string& key) const { return held_.contains(key); }
  std::string evicted() const { return fmt::format("{}", fmt::join(evicted_, " ")); }

  Eviction eviction_;

 private:
  EntryPtr add(const std::string& key, bool own) {
    EntryPtr entry = make_entry(key);
    for (const EntryPtr& gone : eviction_.make_room(entry->object.charge())) {
      held_.erase(gone->object.key());
      evicted_.push_back(gone->object.key());
    }
    held_.insert(key);
    if (own) {
      eviction_.add_own(entry);
    } else {
      eviction_.add_read(entry);
    }
    return entry;
  }

  std::set<std::string> held_;
  std::vector<std::string> evicted_;
};

TEST_F(EvictionTest, TheOldestOwnObjectGoesFirst) {
  for (int i = 0; i < 23; ++i) own(fmt::format("o{:02}", i));
  EXPECT_EQ(evicted(), "o00 o01 o02");
  EXPECT_EQ(eviction_.objects(), 20U);
}

TEST_F(EvictionTest, AScanPassesWithoutTouchingOwnObjects) {
  for (int i = 0; i < 15; ++i) own(fmt::format("o{:02}", i));
  for (int i = 0; i < 200; ++i) {
    EntryPtr entry = read(fmt::format("s{:02}", i % 100));
    // A consumer takes many partitions out of each object while it passes.
    for (int use = 0; use < 50; ++use) eviction_.touch(*entry);
  }
  for (int i = 0; i < 15; ++i) EXPECT_TRUE(holds(fmt::format("o{:02}", i))) << i;
}

TEST_F(EvictionTest, AnIdleCacheGivesAllItsRoomToAScan) {
  for (int i = 0; i < 20; ++i) read(fmt::format("s{:02}", i));
  EXPECT_EQ(evicted(), "");
}

TEST_F(EvictionTest, OwnObjectsPushAScanBackToItsShare) {
  for (int i = 0; i < 20; ++i) read(fmt::format("s{:02}", i));
  for (int i = 0; i < 15; ++i) own(fmt::format("o{:02}", i));
  // Fifteen of the scan went, five are a quarter.
  EXPECT_TRUE(holds("s15"));
  EXPECT_FALSE(holds("s14"));
  EXPECT_TRUE(holds("o00"));
}

TEST_F(EvictionTest, AnObjectThatIsReadAgainAfterItWentMovesToMain) {
  for (int i = 0; i < 15; ++i) own(fmt::format("o{:02}", i));
  for (int i = 0; i < 6; ++i) read(fmt::format("s{:02}", i));
  ASSERT_FALSE(holds("s00"));
  read("s00");
  for (int i = 10; i < 60; ++i) read(fmt::format("s{:02}", i));
  EXPECT_TRUE(holds("s00"));
  EXPECT_FALSE(holds("s01"));
}

TEST_F(EvictionTest, AnObjectUsedAgainLaterMovesToMain) {
  for (int i = 0; i < 15; ++i) own(fmt::format("o{:02}", i));
  EntryPtr used = read("s00");
  for (int i = 1; i < 5; ++i) read(fmt::format("s{:02}", i));
  eviction_.touch(*used);
  for (int i = 5; i < 60; ++i) read(fmt::format("s{:02}", i));
  EXPECT_TRUE(holds("s00"));
  EXPECT_FALSE(holds("s01"));
  // It took the place of the oldest in main.
  EXPECT_FALSE(holds("o00"));
  EXPECT_TRUE(holds("o01"));
}

TEST_F(EvictionTest, AnOwnObjectUsedLateStaysForAnotherRound) {
  EntryPtr late = own("o00");
  EntryPtr early = own("o01");
  eviction_.touch(*early);
  for (int i = 2; i < 18; ++i) own(fmt::format("o{:02}", i));
  eviction_.touch(*late);
  for (int i = 18; i < 36; ++i) own(fmt::format("o{:02}", i));
  EXPECT_TRUE(holds("o00"));
  EXPECT_FALSE(holds("o01"));
  for (int i = 36; i < 60; ++i) own(fmt::format("o{:02}", i));
  EXPECT_FALSE(holds("o00"));
}

TEST_F(EvictionTest, RemovedObjectsLeaveTheirRoom) {
  EntryPtr one = own("o00");
  EntryPtr two = read("s00");
  ByteCount each = one->object.charge();
  EXPECT_EQ(eviction_.bytes(), 2 * each);
  eviction_.remove(*one);
  eviction_.remove(*one);
  EXPECT_EQ(eviction_.bytes(), each);
  eviction_.remove(*two);
  EXPECT_EQ(eviction_.bytes(), 0U);
  EXPECT_EQ(eviction_.objects(), 0U);
  eviction_.touch(*one);
}

TEST_F(EvictionTest, NeverHoldsMoreThanItsCapacity) {
  Rng rng(3);
  ByteCount capacity = 20 * make_entry("k00")->object.charge();
  std::vector<EntryPtr> some;
  for (int i = 0; i < 3000; ++i) {
    EntryPtr entry = make_entry(fmt::format("k{:02}", rng.below(60)));
    ByteCount extra = entry->object.charge() + rng.below(5) * kObject;
    static_cast<void>(eviction_.make_room(extra));
    EXPECT_LE(eviction_.bytes() + extra, capacity);
    if (rng.below(2) == 0) {
      eviction_.add_own(entry);
    } else {
      eviction_.add_read(entry);
    }
    some.push_back(entry);
    for (int use = 0; use < 5; ++use) eviction_.touch(*some[rng.below(some.size())]);
    if (rng.below(10) == 0) eviction_.remove(*some[rng.below(some.size())]);
  }
  EXPECT_GT(eviction_.objects(), 10U);
}

TEST(CachedObject, SlicesAreCutAndNeverCopied) {
  Chain body;
  Slice slices[] = {Slice::copy_of("aaa"), Slice::copy_of("bb"), Slice::copy_of("cccc")};
  for (const Slice& slice : slices) body.append(slice);
  CachedObject object("k", body);
  const std::string all = "aaabbcccc";
  EXPECT_EQ(object.size(), all.size());
  for (std::size_t from = 0; from <= all.size(); ++from) {
    for (std::size_t count = 0; count <= all.size() - from; ++count) {
      Chain got = object.slice({from, count});
      EXPECT_EQ(as_text(got.flatten().bytes()), all.substr(from, count)) << from << " " << count;
    }
  }
  Chain middle = object.slice({3, 2});
  ASSERT_EQ(middle.slices().size(), 1U);
  EXPECT_EQ(middle.slices()[0].data(), slices[1].data());
  Chain across = object.slice({2, 4});
  ASSERT_EQ(across.slices().size(), 3U);
  EXPECT_EQ(across.slices()[0].data(), slices[0].data() + 2);
  EXPECT_EQ(across.slices()[2].size(), 1U);
}

TEST(CachedObject, ManySmallSlicesCostMoreThanTheirBytes) {
  EXPECT_GE(CachedObject::charge_of("k", 1000, 1), 1000U);
  EXPECT_GE(CachedObject::charge_of("k", 1000, 100),
            CachedObject::charge_of("k", 1000, 1) + 99 * sizeof(Slice));
}

}  // namespace
}  // namespace weir::cache
