// Validation, patching and search of record batches. bytes_per_second counts the batch as it is
// sent.
#include "base/crc32c.h"
#include "kafka/records/batch_builder.h"
#include "kafka/records/patching.h"
#include "kafka/records/timestamp_search.h"
#include "kafka/records/validation.h"
#include "runtime/rng.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace weir::kafka {
namespace {

constexpr TimestampMs kNow = 1'700'000'000'000;

// About `batch_size` bytes of records with values of `value_size`, which compress to about half.
Slice batch_of(std::size_t value_size, std::size_t batch_size, Codec codec) {
  Rng rng(1);
  BatchOptions options;
  options.compression.codec = codec;
  RecordBatchBuilder builder(options);
  std::string value(value_size, '\0');
  for (std::size_t size = 0; size < batch_size; size += value_size + 20) {
    for (char& c : value) c = static_cast<char>('a' + rng.below(16));
    std::string key = fmt::format("key-{}", size);
    builder.append(kNow + static_cast<TimestampMs>(size / 1000), as_bytes(key), as_bytes(value));
  }
  return builder.build().value();
}

void count(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}

void validate(benchmark::State& state, const ValidationRules& rules) {
  Slice batch =
      batch_of(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)),
               static_cast<Codec>(state.range(2)));
  for (auto _ : state) {
    BatchVerdict verdict = validate_batch(batch, rules, kNow);
    if (!verdict) state.SkipWithError(verdict.error().message.c_str());
    benchmark::DoNotOptimize(verdict);
  }
  count(state, batch.size());
}

void accept(benchmark::State& state) { validate(state, {}); }
BENCHMARK(accept)
    ->ArgNames({"value", "batch", "codec"})
    ->ArgsProduct({{100, 1024, 10240}, {16384, 1000000}, {0}})
    ->ArgsProduct({{1024}, {16384, 1000000}, {1, 2, 3, 4}});

void recompress(benchmark::State& state) {
  ValidationRules rules;
  rules.compression = Compression{Codec::kZstd, {}};
  validate(state, rules);
}
BENCHMARK(recompress)->ArgNames({"value", "batch", "codec"})->Args({1024, 1000000, 0});

void crc_alone(benchmark::State& state) {
  Slice batch = batch_of(1024, 1000000, Codec::kNone);
  for (auto _ : state) benchmark::DoNotOptimize(crc32c(batch.bytes()));
  count(state, batch.size());
}
BENCHMARK(crc_alone);

void patch(benchmark::State& state) {
  Slice batch = batch_of(1024, static_cast<std::size_t>(state.range(0)), Codec::kNone);
  BatchAssignment assignment{.base_offset = 5, .leader_epoch = 1, .log_append_time = {}};
  if (state.range(1) != 0) assignment.log_append_time = kNow;
  for (auto _ : state) {
    Chain chain;
    append_patched(chain, batch, assignment);
    benchmark::DoNotOptimize(chain);
  }
}
BENCHMARK(patch)->ArgNames({"batch", "stamp"})->ArgsProduct({{16384, 1000000}, {0, 1}});

void find_by_timestamp(benchmark::State& state) {
  Slice batch = batch_of(1024, 1000000, static_cast<Codec>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(find_timestamp(batch.bytes(), {}, INT64_MAX, 0, 64_MiB));
  }
  count(state, batch.size());
}
BENCHMARK(find_by_timestamp)->ArgNames({"codec"})->Arg(0)->Arg(4);

}  // namespace
}  // namespace weir::kafka
