// The expected bytes come from tests/vectors/storage/make_wal_object.py, which knows the documented
// format and not this code.
#include "storage/wal_object.h"

#include "base/big_endian.h"
#include "base/crc32c.h"
#include "kafka/records/batch_builder.h"
#include "runtime/rng.h"
#include "runtime/temporary_folder.h"
#include "runtime/test_loop.h"
#include "storage/file_store.h"
#include "storage/wal_object_dump.h"

#include <boost/asio/thread_pool.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace weir::storage {
namespace {

const TopicId kLow{0x0001020304050607ULL, 0x08090A0B0C0D0E0FULL};
const TopicId kHigh{~0ULL, ~0ULL};
const WalObjectId kId{{0x0123456789ABCDEFULL, 0xFEDCBA9876543210ULL}, 7, 42};

Slice vector_object() {
  std::ifstream file(std::filesystem::path(WEIR_TEST_VECTORS) / "storage/wal_object.bin",
                     std::ios::binary);
  return Slice::copy_of(std::string(std::istreambuf_iterator<char>(file), {}));
}

// A slice for each batch of the vector, in the order of the object: partitions low/0 (two), low/7,
// high/0.
std::vector<WalBatch> vector_batches(const Slice& object) {
  std::vector<WalBatch> out;
  std::size_t at = 0;
  for (const TopicPartition& partition : {TopicPartition{kLow, 0}, TopicPartition{kLow, 0},
                                          TopicPartition{kLow, 7}, TopicPartition{kHigh, 0}}) {
    auto batch = kafka::RecordBatchView::first_of(object.bytes().subspan(at));
    EXPECT_TRUE(batch && batch->crc_matches());
    out.push_back({partition, object.sub(at, batch->size())});
    at += batch->size();
  }
  return out;
}

Slice make_batch(std::size_t value_size, std::uint64_t seed) {
  Rng rng(seed);
  std::string value(value_size, '\0');
  for (char& c : value) c = static_cast<char>(rng.next());
  kafka::RecordBatchBuilder builder({});
  builder.append(1'700'000'000'000, std::nullopt, as_bytes(value));
  return *builder.build();
}

TEST(WalObject, TheWriterMakesTheDocumentedBytes) {
  Slice expected = vector_object();
  ASSERT_FALSE(expected.empty());
  std::vector<WalBatch> batches = vector_batches(expected);
  // As they might come in: partitions mixed, those of low/0 in their order.
  std::vector<WalBatch> staged = {batches[3], batches[0], batches[2], batches[1]};
  WalObject object = build_wal_object(kId, staged);
  EXPECT_EQ(as_text(object.body.flatten().bytes()), as_text(expected.bytes()));
  EXPECT_EQ(object.order, (std::vector<std::uint32_t>{1, 3, 2, 0}));
}

TEST(WalObject, TheWriterCopiesNoBatch) {
  std::vector<WalBatch> batches = vector_batches(vector_object());
  WalObject object = build_wal_object(kId, batches);
  ASSERT_EQ(object.body.slices().size(), batches.size() + 1);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    EXPECT_EQ(object.body.slices()[i].data(), batches[i].bytes.data());
  }
}

TEST(WalObject, TheParserFindsWhatIsInTheDocumentedBytes) {
  Slice object = vector_object();
  auto contents = parse_wal_object(object.bytes());
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_EQ(contents->footer.id, kId);
  const WalIndex& index = contents->index;
  ASSERT_EQ(index.runs.size(), 3U);
  EXPECT_EQ(index.runs[0].partition, (TopicPartition{kLow, 0}));
  EXPECT_EQ(index.runs[1].partition, (TopicPartition{kLow, 7}));
  EXPECT_EQ(index.runs[2].partition, (TopicPartition{kHigh, 0}));
  EXPECT_EQ(index.runs[1].byte_offset, index.runs[0].byte_length);
  auto first = index.batches_of(index.runs[0]);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(
      first[0],
      (WalBatchInfo{.length = 91, .last_offset_delta = 2, .max_timestamp = 1'700'000'000'000}));
  EXPECT_EQ(first[1], (WalBatchInfo{.length = 109,
                                    .last_offset_delta = 0,
                                    .max_timestamp = 1'700'000'000'123,
                                    .producer_id = 4711,
                                    .producer_epoch = 3,
                                    .base_sequence = INT32_MAX}));
  EXPECT_EQ(index.batches_of(index.runs[1])[0].attributes, 0x10);
  for (const WalRun& run : index.runs) {
    EXPECT_TRUE(check_wal_run(object.bytes().subspan(run.byte_offset, run.byte_length), run));
  }
}

TEST(WalObject, TheIndexSaysWhichBatchesGetTheTimeOfTheCommit) {
  std::vector<WalBatch> batches = vector_batches(vector_object());
  batches[2].log_append_time = true;
  Slice object = build_wal_object(kId, batches).body.flatten();
  auto contents = parse_wal_object(object.bytes());
  ASSERT_TRUE(contents);
  const WalIndex& index = contents->index;
  EXPECT_EQ(index.batches_of(index.runs[0])[0].attributes, 0);
  EXPECT_EQ(index.batches_of(index.runs[1])[0].attributes, 0x18);
  // The batch itself stays as it was sent.
  EXPECT_EQ(as_text(object.bytes().subspan(index.runs[1].byte_offset, batches[2].bytes.size())),
            as_text(batches[2].bytes.bytes()));
  auto dump = dump_wal_object(object.bytes(), DumpFormat::kJson);
  ASSERT_TRUE(dump && dump->is_intact);
  auto json = boost::json::parse(dump->text);
  EXPECT_EQ(json.at("runs").at(0).at("batches").at(0).at("log_append_time"), false);
  EXPECT_EQ(json.at("runs").at(1).at("batches").at(0).at("log_append_time"), true);
}

TEST(WalObject, RunCrcsAreThoseOfTheBytes) {
  // Sizes around everything that the joining of CRCs treats apart.
  std::vector<WalBatch> batches;
  std::uint64_t seed = 0;
  for (std::size_t size : {0, 1, 100, 150, 194, 195, 450, 5000, 70'000, 1'200'000}) {
    batches.push_back({{kLow, static_cast<PartitionIndex>(seed % 3)}, make_batch(size, seed)});
    ++seed;
  }
  WalObject object = build_wal_object(kId, batches);
  Slice body = object.body.flatten();
  ASSERT_EQ(object.index.runs.size(), 3U);
  for (const WalRun& run : object.index.runs) {
    EXPECT_EQ(run.crc, crc32c(body.bytes().subspan(run.byte_offset, run.byte_length)));
  }
}

TEST(WalObject, EveryDamagedByteIsFound) {
  Slice whole = vector_object();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> damaged(whole.bytes().begin(), whole.bytes().end());
    damaged[at] ^= std::byte{0x10};
    auto contents = parse_wal_object(damaged);
    bool found = !contents;
    if (contents) {
      for (const WalRun& run : contents->index.runs) {
        Bytes bytes = Bytes(damaged).subspan(run.byte_offset, run.byte_length);
        Status checked = check_wal_run(bytes, run);
        bool in_run = at >= run.byte_offset && at < run.byte_offset + run.byte_length;
        EXPECT_EQ(checked.has_value(), !in_run) << at;
        found = found || !checked;
      }
    } else {
      EXPECT_EQ(contents.error().code, ErrorCode::kCorrupt);
    }
    EXPECT_TRUE(found) << at;
  }
}

TEST(WalObject, EveryTruncationIsFound) {
  Slice whole = vector_object();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse_wal_object(whole.bytes().first(size))) << size;
    EXPECT_FALSE(parse_wal_object(whole.bytes().last(size))) << size;
  }
}

TEST(WalObject, FooterAndIndexCanBeReadByThemselves) {
  Slice whole = vector_object();
  auto footer = parse_wal_footer(whole.bytes().last(kWalFooterSize), whole.size());
  ASSERT_TRUE(footer);
  std::size_t index_at = whole.size() - kWalFooterSize - footer->index_length;
  auto index =
      parse_wal_index(whole.bytes().subspan(index_at, footer->index_length), *footer, whole.size());
  ASSERT_TRUE(index);
  EXPECT_EQ(index->runs.size(), 3U);
  EXPECT_FALSE(parse_wal_index(whole.bytes().subspan(index_at, 10), *footer, whole.size()));
  // The same index at the end of an object of another size names bytes that are not there.
  EXPECT_FALSE(parse_wal_index(whole.bytes().subspan(index_at, footer->index_length), *footer,
                               whole.size() + 1));
}

// What the parser says of an object with one change and CRCs that fit.
std::string error_after(std::size_t at_from_end, std::uint32_t word) {
  Slice whole = vector_object();
  std::vector<std::byte> bytes(whole.bytes().begin(), whole.bytes().end());
  std::byte* footer = bytes.data() + bytes.size() - kWalFooterSize;
  store_big_endian(bytes.data() + bytes.size() - at_from_end, word);
  auto index_length = load_big_endian<std::uint32_t>(footer + 32);
  if (index_length < bytes.size() - kWalFooterSize) {
    store_big_endian(footer + 36, crc32c(Bytes(footer - index_length, index_length)));
  }
  store_big_endian(footer + 44, crc32c(Bytes(footer, 44)));
  auto contents = parse_wal_object(bytes);
  return contents ? "none" : contents.error().to_string();
}

TEST(WalObject, LengthsAreNotTrusted) {
  constexpr std::size_t kFooter = kWalFooterSize;
  constexpr std::size_t kIndex = kFooter + 3 * 36 + 4 * 32;
  EXPECT_EQ(error_after(kFooter - 40, 0x01010000), "none");  // what it was
  EXPECT_EQ(error_after(kFooter - 40, 0x02010000),
            "corrupt: WAL object: it is of kind 2, a WAL object is of kind 1");
  EXPECT_EQ(error_after(kFooter - 40, 0x01020000),
            "corrupt: WAL object: it has format version 2.0, this version of Weir reads 1.0");
  EXPECT_EQ(error_after(kFooter - 32, 0xFFFFFFFF),
            "corrupt: WAL object: the index would have 4294967295 bytes of 662");
  EXPECT_EQ(error_after(kFooter - 32, 0),
            "corrupt: WAL object: the runs of the index end at byte 0, the data at 606");
  EXPECT_EQ(error_after(kIndex - 16, 0x80000000),
            "corrupt: WAL object: run 0 has partition -2147483648");
  EXPECT_EQ(error_after(kIndex - 20, 0), "corrupt: WAL object: run 0 cannot have 0 batches");
  EXPECT_EQ(error_after(kIndex - 20, 0xFFFFFFFF),
            "corrupt: WAL object: run 0 cannot have 4294967295 batches");
  EXPECT_EQ(error_after(kIndex - 24, 1),
            "corrupt: WAL object: run 0 is said to begin at byte 1, but the one before ends at 0");
  EXPECT_EQ(error_after(kIndex - 28, 201),
            "corrupt: WAL object: run 0 has 201 bytes, but its batches 200");
  EXPECT_EQ(error_after(kIndex - 36, 60),
            "corrupt: WAL object: batch 0 of run 0 has 60 bytes and a last offset delta of 2");
  EXPECT_EQ(
      error_after(kIndex - 42, 0x80000000),
      "corrupt: WAL object: batch 0 of run 0 has 91 bytes and a last offset delta of -2147483648");
  // The second run of the same partition as the first.
  EXPECT_EQ(
      error_after(kIndex - 36 - 64 - 16, 0),
      "corrupt: WAL object: run 1 is out of order or of the same partition as the one before");
}

TEST(WalObject, KeysSpreadAndSortWithinTheirFolder) {
  // The hashes come from xxhash's own library.
  EXPECT_EQ(wal_object_key(7, 42), "data/a36f/0000000007/000000000042");
  EXPECT_EQ(wal_object_key(7, 1023), "data/a36f/0000000007/000000001023");
  EXPECT_EQ(wal_object_key(7, 1024), "data/2a15/0000000007/000000001024");
  EXPECT_EQ(wal_object_key(8, 42), "data/15b3/0000000008/000000000042");
}

TEST(WalObject, OnlyItsOwnKeysAreParsed) {
  for (std::int64_t number :
       {std::int64_t{0}, std::int64_t{42}, std::int64_t{99'999'999'999'999}, INT64_MAX}) {
    auto name = parse_wal_object_key(wal_object_key(number, number));
    ASSERT_TRUE(name) << number;
    EXPECT_EQ(name->broker_epoch, number);
    EXPECT_EQ(name->sequence, number);
  }
  for (const char* key :
       {"data/a36e/0000000007/000000000042", "data/a36f/7/42", "data/a36f/0000000007/00000000042",
        "data/a36f/0000000007/000000000042/", "data/a36f/0000000007", "data/", "",
        "x/data/a36f/0000000007/000000000042", "data/a36f/-000000007/000000000042",
        "data/A36F/0000000007/000000000042", "data/a36f/0000000007/99999999999999999999"}) {
    EXPECT_FALSE(parse_wal_object_key(key)) << key;
  }
}

TEST(WalDump, TellsEverythingAsJson) {
  auto dump = dump_wal_object(vector_object().bytes(), DumpFormat::kJson);
  ASSERT_TRUE(dump);
  EXPECT_TRUE(dump->is_intact);
  auto json = boost::json::parse(dump->text);
  EXPECT_EQ(json.at("cluster_id"), "ASNFZ4mrze_-3LqYdlQyEA");
  EXPECT_EQ(json.at("broker_epoch"), 7);
  EXPECT_EQ(json.at("sequence"), 42);
  EXPECT_EQ(json.at("size"), 662);
  EXPECT_EQ(json.at("intact"), true);
  ASSERT_EQ(json.at("runs").as_array().size(), 3U);
  const auto& run = json.at("runs").at(0);
  EXPECT_EQ(run.at("topic_id"), "AAECAwQFBgcICQoLDA0ODw");
  const auto& batch = run.at("batches").at(1);
  EXPECT_EQ(batch.at("offset"), 91);
  EXPECT_EQ(batch.at("records"), 1);
  EXPECT_EQ(batch.at("codec"), "none");
  EXPECT_EQ(batch.at("producer_id"), 4711);
  EXPECT_EQ(batch.at("base_sequence"), 2147483647);
  EXPECT_FALSE(batch.as_object().contains("problem"));
}

TEST(WalDump, TellsEverythingAsText) {
  auto dump = dump_wal_object(vector_object().bytes(), DumpFormat::kText);
  ASSERT_TRUE(dump);
  for (const char* part : {
           "WAL object of cluster ASNFZ4mrze_-3LqYdlQyEA, broker epoch 7, sequence 42\n",
           "662 bytes, 236 of them index; 3 runs, 4 batches\n",
           "\ntopic AAECAwQFBgcICQoLDA0ODw partition 0: 200 bytes at 0, 2 batches, CRC ",
           "\n  91: 109 bytes, 1 records, none, timestamps 1700000000123 to 1700000000123",
           ", producer 4711 epoch 3 sequences 2147483647 to 2147483647\n",
           ", producer 5 epoch 0 sequences 0 to 1, transactional\n",
           "\nintact\n",
       }) {
    EXPECT_NE(dump->text.find(part), std::string::npos) << part << "\nis not in\n" << dump->text;
  }
}

TEST(WalDump, MarksWhatIsDamaged) {
  Slice whole = vector_object();
  std::vector<std::byte> damaged(whole.bytes().begin(), whole.bytes().end());
  damaged[91 + 70] ^= std::byte{1};  // a record of the second batch
  auto dump = dump_wal_object(damaged, DumpFormat::kJson);
  ASSERT_TRUE(dump);
  EXPECT_FALSE(dump->is_intact);
  auto json = boost::json::parse(dump->text);
  EXPECT_EQ(json.at("intact"), false);
  const auto& run = json.at("runs").at(0);
  EXPECT_TRUE(run.as_object().contains("problem"));
  EXPECT_FALSE(run.at("batches").at(0).as_object().contains("problem"));
  EXPECT_TRUE(run.at("batches").at(1).at("problem").as_string().starts_with("its CRC is "));
  EXPECT_FALSE(json.at("runs").at(1).as_object().contains("problem"));
  auto text = dump_wal_object(damaged, DumpFormat::kText);
  EXPECT_TRUE(text->text.ends_with("\nDAMAGED\n"));
  EXPECT_FALSE(text->is_intact);
}

TEST(WalDump, AnObjectWithoutFooterIsAnError) {
  auto dump = dump_wal_object(vector_object().bytes().first(600), DumpFormat::kText);
  ASSERT_FALSE(dump);
  EXPECT_EQ(dump.error().to_string(), "corrupt: WAL object: it does not end in WEIR-OBJ");
}

TEST(WalObject, ADamagedFileIsNoticedAndTheOthersAreNot) {
  TemporaryFolder folder;
  boost::asio::io_context context;  // outlives the threads, which post to it
  boost::asio::thread_pool pool(1);
  auto store = *FileStore::open(folder.path(), pool.get_executor());
  std::vector<WalBatch> batches = {{{kLow, 0}, make_batch(5000, 1)},
                                   {{kLow, 1}, make_batch(5000, 2)}};
  std::string key = wal_object_key(1, 1);
  ASSERT_TRUE(run_task(context, store->put(key, build_wal_object(kId, batches).body, {})));
  std::fstream file(folder.path() / key, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(7000);
  file << "rot";
  file.close();
  Slice read = *run_task(context, store->get(key));
  auto contents = parse_wal_object(read.bytes());
  ASSERT_TRUE(contents);
  auto check = [&](const WalRun& run) {
    return check_wal_run(read.bytes().subspan(run.byte_offset, run.byte_length), run);
  };
  EXPECT_TRUE(check(contents->index.runs[0]));
  Status second = check(contents->index.runs[1]);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(second.error().message.find("partition 1"), std::string::npos);
  pool.join();
}

}  // namespace
}  // namespace weir::storage
