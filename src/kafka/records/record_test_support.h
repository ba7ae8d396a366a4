// For tests of record batches: test vectors, bytes in hex and records as text.
#pragma once
#include "kafka/records/compression.h"
#include "kafka/records/record.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace weir::kafka {

// One paragraph of a vector file: lines of a keyword and its arguments.
struct VectorCase {
  std::vector<std::pair<std::string, std::string>> lines;

  // The arguments of the first line with the keyword.
  [[nodiscard]] std::optional<std::string> find(std::string_view keyword) const {
    for (const auto& [key, rest] : lines) {
      if (key == keyword) return rest;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::vector<std::string> all(std::string_view keyword) const {
    std::vector<std::string> out;
    for (const auto& [key, rest] : lines) {
      if (key == keyword) out.push_back(rest);
    }
    return out;
  }
  [[nodiscard]] std::string name() const { return find("case").value_or(""); }
};

inline std::vector<VectorCase> read_vectors(const std::string& name) {
  std::ifstream file(std::string(WEIR_TEST_VECTORS "/records/") + name);
  EXPECT_TRUE(file) << name;
  std::vector<VectorCase> out;
  std::string line;
  bool in_case = false;
  while (std::getline(file, line)) {
    if (line.starts_with("#")) continue;
    if (line.empty()) {
      in_case = false;
      continue;
    }
    if (!in_case) out.emplace_back();
    in_case = true;
    std::size_t space = std::min(line.find(' '), line.size());
    out.back().lines.emplace_back(line.substr(0, space),
                                  line.substr(std::min(space + 1, line.size())));
  }
  return out;
}

inline Slice read_corpus(const std::string& path) {
  std::ifstream file(std::string(WEIR_TEST_VECTORS "/../fuzz_corpus/") + path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return Slice::copy_of(bytes);
}

inline Slice from_hex(std::string_view hex) {
  if (hex == "empty") return {};
  std::vector<std::byte> out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return Slice::of(std::move(out));
}

inline std::string to_hex(const std::optional<Bytes>& bytes) {
  if (!bytes) return "null";
  if (bytes->empty()) return "empty";
  std::string out;
  for (std::byte b : *bytes) out += fmt::format("{:02x}", static_cast<int>(b));
  return out;
}

constexpr ByteCount kTestLimit = 64_MiB;

// "OFFSET TIMESTAMP KEY VALUE HEADER=VALUE…" for each record of a batch.
inline std::vector<std::string> records_of(const Slice& bytes) {
  RecordBatchView batch(bytes.bytes());
  Result<Slice> records = decompress(batch.codec(), bytes.sub(kBatchHeaderSize), kTestLimit);
  EXPECT_TRUE(records) << records.error().message;
  if (!records) return {};
  std::vector<std::string> out;
  RecordReader reader(records->bytes());
  while (auto record = reader.next()) {
    TimestampMs timestamp = batch.is_log_append_time()
                                ? batch.max_timestamp()
                                : record_timestamp(batch.base_timestamp(), record->timestamp_delta);
    std::string line = fmt::format("{} {} {} {}", batch.base_offset() + record->offset_delta,
                                   timestamp, to_hex(record->key), to_hex(record->value));
    record->headers.for_each([&](const RecordHeader& header) {
      line += fmt::format(" {}={}", to_hex(as_bytes(header.key)), to_hex(header.value));
    });
    out.push_back(line);
  }
  EXPECT_TRUE(reader.status()) << reader.status().error().message;
  return out;
}

// Gives its bytes in chunks of one size.
class ChoppedSource final : public ChunkSource {
 public:
  ChoppedSource(Bytes bytes, std::size_t chunk) : rest_(bytes), chunk_(chunk) {}
  Result<Bytes> next() override {
    Bytes out = rest_.first(std::min(chunk_, rest_.size()));
    rest_ = rest_.subspan(out.size());
    return out;
  }

 private:
  Bytes rest_;
  std::size_t chunk_;
};

}  // namespace weir::kafka
