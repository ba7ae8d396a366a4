#include "storage/file_direct.h"

#include "runtime/temporary_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace weir::storage {
namespace {

class DirectWriteTest : public testing::TestWithParam<std::size_t> {
 protected:
  TemporaryFolder folder_;
};

// Bytes that differ at every place, in slices of sizes that fit no block.
Chain pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 2654435761U) >> 13);
  Slice whole = Slice::of(std::move(bytes));
  Chain chain;
  std::size_t at = 0;
  for (std::size_t length = 1; at < size; length = length * 3 % 70001 + 1) {
    std::size_t part = std::min(length, size - at);
    chain.append(whole.sub(at, part));
    at += part;
  }
  return chain;
}

TEST_P(DirectWriteTest, TheFileHoldsExactlyTheBytes) {
  auto folder = open_at(AT_FDCWD, folder_.path(), O_RDONLY | O_DIRECTORY);
  ASSERT_TRUE(folder);
  auto file = create_direct(folder->get(), "object");
  if (!file && file.error().code == ErrorCode::kInvalid) GTEST_SKIP() << file.error().message;
  ASSERT_TRUE(file) << file.error().to_string();
  Chain chain = pattern(GetParam());
  ASSERT_TRUE(write_direct(file->get(), chain, "object"));
  std::ifstream stream(folder_.path() / "object", std::ios::binary);
  std::string stored{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(stored.size(), GetParam());
  EXPECT_TRUE(stored == as_text(chain.flatten().bytes()));
  auto again = open_at(folder->get(), "object", O_RDONLY);
  ASSERT_TRUE(again);
  // All of it, and a part that begins and ends within blocks.
  auto whole = read_direct(again->get(), 0, stored.size(), "object");
  ASSERT_TRUE(whole) << whole.error().to_string();
  EXPECT_TRUE(as_text(whole->bytes()) == stored);
  if (stored.size() < 100) return;
  auto part = read_direct(again->get(), 33, stored.size() - 40, "object");
  ASSERT_TRUE(part) << part.error().to_string();
  EXPECT_TRUE(as_text(part->bytes()) == stored.substr(33, stored.size() - 40));
  EXPECT_EQ(read_direct(again->get(), 50, stored.size(), "object").error().code,
            ErrorCode::kCorrupt);
}

INSTANTIATE_TEST_SUITE_P(Sizes, DirectWriteTest,
                         testing::Values(0, 1, 4095, 4096, 4097, (1 << 20) - 1, 1 << 20,
                                         (1 << 20) + 1, (3 << 20) + 12345));

}  // namespace
}  // namespace weir::storage
