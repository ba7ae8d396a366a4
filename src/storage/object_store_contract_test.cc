#include "storage/object_store_contract.h"

#include "runtime/rng.h"
#include "runtime/task_group.h"

#include <fmt/format.h>

#include <set>

namespace weir::storage {

namespace {

ErrorCode code_of(const auto& result) {
  EXPECT_FALSE(result.has_value());
  return result ? ErrorCode::kInternal : result.error().code;
}

std::vector<std::string> keys_of(const ListPage& page) {
  std::vector<std::string> out;
  out.reserve(page.objects.size());
  for (const ObjectInfo& info : page.objects) out.push_back(info.key);
  return out;
}

TEST_P(ObjectStoreContract, GivesBackWhatWasPut) {
  Chain body(Slice::copy_of("hello "));
  body.append(Slice::copy_of("wide "));
  body.append(Slice::copy_of("world"));
  ASSERT_TRUE(run(store().put("data/ab/1", body)));
  EXPECT_EQ(get("data/ab/1"), "hello wide world");
  auto info = run(store().head("data/ab/1"));
  ASSERT_TRUE(info);
  EXPECT_EQ(info->key, "data/ab/1");
  EXPECT_EQ(info->size, 16U);
  EXPECT_GT(info->modified_ms, 1'600'000'000'000);
}

TEST_P(ObjectStoreContract, AnEmptyObjectIsAnObject) {
  ASSERT_TRUE(run(store().put("empty", Chain())));
  EXPECT_EQ(get("empty"), "");
  EXPECT_EQ(run(store().head("empty"))->size, 0U);
}

TEST_P(ObjectStoreContract, KeepsTheOrderOfThousandsOfSlices) {
  Chain body;
  std::string expected;
  for (int i = 0; i < 5000; ++i) {
    std::string part = fmt::format("{},", i);
    expected += part;
    body.append(Slice::copy_of(part));
  }
  ASSERT_TRUE(run(store().put("many", body)));
  EXPECT_EQ(get("many"), expected);
}

TEST_P(ObjectStoreContract, LargeObjectsOfUnevenSlicesAreWhole) {
  Rng rng(11);
  Chain body;
  for (std::size_t size : {1U, 5'000'000U, 3U, 2'097'152U, 77'777U, 1'500'000U}) {
    std::string part(size, '\0');
    for (char& c : part) c = static_cast<char>(rng.next());
    body.append(Slice::copy_of(part));
  }
  ASSERT_TRUE(run(store().put("large", body)));
  auto got = run(store().get("large"));
  ASSERT_TRUE(got);
  EXPECT_TRUE(as_text(got->bytes()) == as_text(body.flatten().bytes()));
  std::uint64_t from = 4'999'990;
  auto range = run(store().get_range("large", {from, 20}));
  ASSERT_TRUE(range);
  EXPECT_EQ(as_text(range->bytes()), as_text(body.flatten().bytes().subspan(from, 20)));
}

TEST_P(ObjectStoreContract, AbsentObjectsAreNotFound) {
  ASSERT_TRUE(put("a/b", "x"));
  for (const char* key : {"nothing", "a", "a/c", "a/b/c"}) {
    EXPECT_EQ(code_of(run(store().get(key))), ErrorCode::kNotFound) << key;
    EXPECT_EQ(code_of(run(store().get_range(key, {0, 0}))), ErrorCode::kNotFound) << key;
    EXPECT_EQ(code_of(run(store().head(key))), ErrorCode::kNotFound) << key;
  }
  EXPECT_NE(get("nothing").find("nothing"), std::string::npos);
}

TEST_P(ObjectStoreContract, PutReplaces) {
  ASSERT_TRUE(put("k", "a long first body"));
  ASSERT_TRUE(put("k", "second"));
  EXPECT_EQ(get("k"), "second");
}

TEST_P(ObjectStoreContract, IfAbsentKeepsTheFirst) {
  ASSERT_TRUE(put("log/1", "first", {.if_absent = true}));
  EXPECT_EQ(code_of(put("log/1", "second", {.if_absent = true})), ErrorCode::kConflict);
  EXPECT_EQ(get("log/1"), "first");
}

TEST_P(ObjectStoreContract, OneOfManyIfAbsentPutsWins) {
  TaskGroup group;
  std::vector<std::string> winners;
  auto contend = [&](std::string body) -> Task<void> {
    Status done = co_await store().put("log/7", Chain(Slice::copy_of(body)), {.if_absent = true});
    if (done) winners.push_back(body);
    if (!done) EXPECT_EQ(done.error().code, ErrorCode::kConflict);
  };
  for (int i = 0; i < 8; ++i)
    group.spawn(context_.get_executor(), contend(fmt::format("body {}", i)));
  run_task(context_, group.join());
  ASSERT_EQ(winners.size(), 1U);
  EXPECT_EQ(get("log/7"), winners[0]);
}

TEST_P(ObjectStoreContract, RangesAreExact) {
  ASSERT_TRUE(put("k", "0123456789"));
  auto range = [&](std::uint64_t from, std::uint64_t count) {
    auto got = run(store().get_range("k", {from, count}));
    return got ? std::string(as_text(got->bytes())) : std::string(to_string(got.error().code));
  };
  EXPECT_EQ(range(0, 10), "0123456789");
  EXPECT_EQ(range(3, 4), "3456");
  EXPECT_EQ(range(9, 1), "9");
  EXPECT_EQ(range(10, 0), "");
  EXPECT_EQ(range(9, 2), "invalid");
  EXPECT_EQ(range(11, 0), "invalid");
  EXPECT_EQ(range(5, UINT64_MAX - 2), "invalid");
}

TEST_P(ObjectStoreContract, RefusesBadKeys) {
  std::string long_part(256, 'x');
  std::string long_key = std::string(255, 'x') + "/" + std::string(255, 'x') + "/y";
  std::vector<std::string> bad = {
      "",        "/",     "/a",  "a/",   "a//b", ".",        "..",
      "a/../b",  "a/./b", "a b", "a\\b", "a~b",  "\xC3\xA4", std::string("a\0b", 3),
      long_part, long_key};
  for (const std::string& key : bad) {
    EXPECT_EQ(code_of(put(key, "x")), ErrorCode::kInvalid) << key;
    EXPECT_EQ(code_of(run(store().get(key))), ErrorCode::kInvalid) << key;
    EXPECT_EQ(code_of(run(store().get_range(key, {0, 0}))), ErrorCode::kInvalid) << key;
    EXPECT_EQ(code_of(run(store().head(key))), ErrorCode::kInvalid) << key;
    EXPECT_EQ(code_of(run(store().remove({"fine", key}))), ErrorCode::kInvalid) << key;
  }
  std::string longest = std::string(255, 'x') + "/" + std::string(254, 'x') + "/y";
  ASSERT_EQ(longest.size(), 512U);
  EXPECT_TRUE(put(longest, "fits"));
  EXPECT_EQ(get(longest), "fits");
  EXPECT_TRUE(put("...", "not a folder"));
  EXPECT_TRUE(put("A-z_0=9.x", "every character"));
}

TEST_P(ObjectStoreContract, AKeyIsNotTheFolderOfAnother) {
  if (!GetParam().knows_folders) GTEST_SKIP() << "stores of this kind have no folders";
  ASSERT_TRUE(put("a/b/c", "x"));
  ASSERT_TRUE(put("d", "y"));
  EXPECT_EQ(code_of(put("a", "z")), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(put("a/b", "z")), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(put("a/b", "z", {.if_absent = true})), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(put("d/e", "z")), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(put("a/b/c/d/e", "z")), ErrorCode::kInvalid);
  EXPECT_EQ(get("a/b/c"), "x");
  EXPECT_TRUE(put("a/b/cd", "a sibling"));
  // When the objects are gone, so is their folder.
  ASSERT_TRUE(run(store().remove({"a/b/c", "a/b/cd"})));
  EXPECT_TRUE(put("a", "z"));
}

TEST_P(ObjectStoreContract, RemoveTakesWhatExists) {
  ASSERT_TRUE(put("a/1", "x"));
  ASSERT_TRUE(put("a/2", "y"));
  ASSERT_TRUE(run(store().remove({"a/1", "a/3", "b/1", "a", "a/2/x"})));
  EXPECT_EQ(code_of(run(store().get("a/1"))), ErrorCode::kNotFound);
  EXPECT_EQ(get("a/2"), "y");
  EXPECT_TRUE(run(store().remove({"a/2"})));
  EXPECT_TRUE(run(store().remove({})));
  ASSERT_TRUE(put("a/2", "again"));
  EXPECT_EQ(get("a/2"), "again");
}

TEST_P(ObjectStoreContract, BytesReadOutliveTheObject) {
  ASSERT_TRUE(put("k", "old"));
  Slice old = *run(store().get("k"));
  ASSERT_TRUE(put("k", "new"));
  ASSERT_TRUE(run(store().remove({"k"})));
  EXPECT_EQ(as_text(old.bytes()), "old");
}

TEST_P(ObjectStoreContract, ListsInByteOrderOfKeys) {
  // '-' and '.' sort before '/', digits and letters behind it.
  std::vector<std::string> keys = {"a-b", "a.b", "a/x", "a/y/z", "a0", "aB", "ab", "b"};
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) ASSERT_TRUE(put(*key, *key));
  auto page = run(store().list("", "", kMaxListLimit));
  ASSERT_TRUE(page);
  EXPECT_EQ(keys_of(*page), keys);
  EXPECT_FALSE(page->more);
  EXPECT_EQ(page->objects[3].size, 5U);
  EXPECT_GT(page->objects[3].modified_ms, 1'600'000'000'000);
}

TEST_P(ObjectStoreContract, ListPagesTellWhetherThereIsMore) {
  for (const char* key : {"p/1", "p/2", "p/3", "q"}) ASSERT_TRUE(put(key, "x"));
  auto first = run(store().list("p/", "", 2));
  EXPECT_EQ(keys_of(*first), (std::vector<std::string>{"p/1", "p/2"}));
  EXPECT_TRUE(first->more);
  auto second = run(store().list("p/", "p/2", 2));
  EXPECT_EQ(keys_of(*second), (std::vector<std::string>{"p/3"}));
  EXPECT_FALSE(second->more);
  auto exact = run(store().list("p/", "", 3));
  EXPECT_EQ(exact->objects.size(), 3U);
  EXPECT_FALSE(exact->more);
}

TEST_P(ObjectStoreContract, ListRefusesBadArguments) {
  EXPECT_EQ(code_of(run(store().list("a//", "", 1))), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(run(store().list("../", "", 1))), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(run(store().list("", "a b", 1))), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(run(store().list("", "", 0))), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(run(store().list("", "", kMaxListLimit + 1))), ErrorCode::kInvalid);
}

// A short random key or the beginning of one.
std::string random_key(Rng& rng) {
  static constexpr std::string_view kParts[] = {"a", "a-", "a.", "a0", "b", "ab", "=", "Z"};
  std::string key;
  for (std::uint64_t depth = 1 + rng.below(3); depth > 0; --depth) {
    if (!key.empty()) key += '/';
    key += kParts[rng.below(std::size(kParts))];
  }
  return key;
}

TEST_P(ObjectStoreContract, ListsWhatAnOrderedSetWouldGive) {
  Rng rng(7);
  std::set<std::string> stored;
  for (int i = 0; i < 120; ++i) {
    std::string key = random_key(rng);
    if (put(key, "x")) stored.insert(key);
  }
  for (int i = 0; i < 300; ++i) {
    std::string prefix = random_key(rng);
    prefix.resize(rng.below(prefix.size() + 1));
    std::string after = rng.below(3) == 0 ? "" : random_key(rng);
    std::size_t limit = 1 + rng.below(12);
    std::vector<std::string> expected;
    for (const std::string& key : stored) {
      if (key.starts_with(prefix) && key > after) expected.push_back(key);
    }
    bool more = expected.size() > limit;
    if (more) expected.resize(limit);
    auto page = run(store().list(prefix, after, limit));
    ASSERT_TRUE(page);
    EXPECT_EQ(keys_of(*page), expected) << "prefix " << prefix << " after " << after;
    EXPECT_EQ(page->more, more) << "prefix " << prefix << " after " << after;
  }
}

TEST_P(ObjectStoreContract, CallsRunSideBySide) {
  TaskGroup group;
  std::size_t right = 0;
  auto work = [&](int id) -> Task<void> {
    std::string key = fmt::format("p{}/q{}/{}", id % 3, id % 5, id);
    std::string body(1000 + static_cast<std::size_t>(id), static_cast<char>('a' + id % 26));
    Status done = co_await store().put(key, Chain(Slice::copy_of(body)));
    auto got = co_await store().get(key);
    if (done && got && as_text(got->bytes()) == body) ++right;
    // Empties folders that others put into.
    if (id % 2 == 0) co_await store().remove({key});
  };
  for (int i = 0; i < 60; ++i) group.spawn(context_.get_executor(), work(i));
  run_task(context_, group.join());
  EXPECT_EQ(right, 60U);
  EXPECT_EQ(run(store().list("", "", kMaxListLimit))->objects.size(), 30U);
}

TEST_P(ObjectStoreContract, ReadersSeeOneWholeBody) {
  const std::string bodies[] = {std::string(300'000, 'a'), std::string(200'000, 'b')};
  ASSERT_TRUE(put("k", bodies[0]));
  TaskGroup group;
  int wrong = 0;
  auto write = [&]() -> Task<void> {
    for (int i = 0; i < 10; ++i) {
      Status done = co_await store().put("k", Chain(Slice::copy_of(bodies[i % 2])));
      if (!done) ++wrong;
    }
  };
  auto read = [&]() -> Task<void> {
    for (int i = 0; i < 20; ++i) {
      auto got = co_await store().get("k");
      if (!got || (as_text(got->bytes()) != bodies[0] && as_text(got->bytes()) != bodies[1]))
        ++wrong;
    }
  };
  for (int i = 0; i < 2; ++i) {
    group.spawn(context_.get_executor(), write());
    group.spawn(context_.get_executor(), read());
  }
  run_task(context_, group.join());
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weir::storage
