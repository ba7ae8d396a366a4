#include "storage/wal_object_dump.h"

#include "kafka/protocol/json_writer.h"
#include "kafka/records/record_batch.h"
#include "storage/wal_object.h"

#include <fmt/format.h>

#include <iterator>

namespace weir::storage {
namespace {

// What is wrong with a batch, or nothing. `info` is what the index says of it.
std::string problem_of(const kafka::RecordBatchView& batch, const WalBatchInfo& info) {
  auto whole = kafka::RecordBatchView::first_of(batch.bytes());
  if (!whole) return whole.error().message;
  if (whole->size() != batch.size()) {
    return fmt::format("its header gives it {} bytes", whole->size());
  }
  if (!batch.crc_matches()) {
    return fmt::format("its CRC is {:08x} and should be {:08x}", batch.computed_crc(), batch.crc());
  }
  bool same =
      (batch.attributes() | kafka::kLogAppendTimeBit) ==
          (info.attributes | kafka::kLogAppendTimeBit) &&
      batch.last_offset_delta() == info.last_offset_delta &&
      batch.max_timestamp() == info.max_timestamp && batch.producer_id() == info.producer_id &&
      batch.producer_epoch() == info.producer_epoch && batch.base_sequence() == info.base_sequence;
  return same ? "" : "the index says something else of it";
}

std::string codec_of(const kafka::RecordBatchView& batch) {
  if (batch.codec_id() < kafka::kCodecCount) return std::string(to_string(batch.codec()));
  return fmt::format("unknown ({})", batch.codec_id());
}

// Receives the parts of an object in their order.
class Printer {
 public:
  virtual ~Printer() = default;
  virtual void object(const WalContents& contents, std::size_t size) = 0;
  virtual void run(const WalRun& run, const std::string& problem) = 0;
  // `stamped`: its records get the time of the commit.
  virtual void batch(const kafka::RecordBatchView& batch, std::uint64_t at, bool stamped,
                     const std::string& problem) = 0;
  virtual void end_run() = 0;
  virtual std::string finish(bool is_intact) = 0;
};

class TextPrinter final : public Printer {
 public:
  void object(const WalContents& contents, std::size_t size) override {
    const WalFooter& footer = contents.footer;
    print("WAL object of cluster {}, broker epoch {}, sequence {}\n", footer.id.cluster.to_string(),
          footer.id.broker_epoch, footer.id.sequence);
    print("{} bytes, {} of them index; {} runs, {} batches\n", size, footer.index_length,
          contents.index.runs.size(), contents.index.batches.size());
  }
  void run(const WalRun& run, const std::string& problem) override {
    print("\ntopic {} partition {}: {} bytes at {}, {} batches, CRC {:08x}{}\n",
          run.partition.topic.to_string(), run.partition.partition, run.byte_length,
          run.byte_offset, run.batch_count, run.crc, mark(problem));
  }
  void batch(const kafka::RecordBatchView& batch, std::uint64_t at, bool stamped,
             const std::string& problem) override {
    print("  {}: {} bytes, {} records, {}, timestamps {} to {}", at, batch.size(),
          batch.records_count(), codec_of(batch), batch.base_timestamp(), batch.max_timestamp());
    if (batch.producer_id() >= 0) {
      print(", producer {} epoch {} sequences {} to {}", batch.producer_id(),
            batch.producer_epoch(), batch.base_sequence(), batch.last_sequence());
    }
    if (stamped) print(", log append time");
    if (batch.is_transactional()) print(", transactional");
    if (batch.is_control()) print(", control");
    print("{}\n", mark(problem));
  }
  void end_run() override {}
  std::string finish(bool is_intact) override {
    print("\n{}\n", is_intact ? "intact" : "DAMAGED");
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  static std::string mark(const std::string& problem) {
    return problem.empty() ? "" : fmt::format("  DAMAGED: {}", problem);
  }

  std::string out_;
};

class JsonPrinter final : public Printer {
 public:
  void object(const WalContents& contents, std::size_t size) override {
    const WalFooter& footer = contents.footer;
    out_.begin_object();
    text("kind", "wal");
    text("cluster_id", footer.id.cluster.to_string());
    number("broker_epoch", footer.id.broker_epoch);
    number("sequence", footer.id.sequence);
    number("size", static_cast<std::int64_t>(size));
    number("index_size", footer.index_length);
    out_.key("runs");
    out_.begin_array();
  }
  void run(const WalRun& run, const std::string& problem) override {
    out_.begin_object();
    text("topic_id", run.partition.topic.to_string());
    number("partition", run.partition.partition);
    number("offset", run.byte_offset);
    number("size", run.byte_length);
    text("crc32c", fmt::format("{:08x}", run.crc));
    if (!problem.empty()) text("problem", problem);
    out_.key("batches");
    out_.begin_array();
  }
  void batch(const kafka::RecordBatchView& batch, std::uint64_t at, bool stamped,
             const std::string& problem) override {
    out_.begin_object();
    number("offset", static_cast<std::int64_t>(at));
    number("size", static_cast<std::int64_t>(batch.size()));
    number("records", batch.records_count());
    number("last_offset_delta", batch.last_offset_delta());
    text("codec", codec_of(batch));
    number("attributes", batch.attributes());
    out_.key("log_append_time");
    out_.boolean(stamped);
    number("base_timestamp", batch.base_timestamp());
    number("max_timestamp", batch.max_timestamp());
    number("producer_id", batch.producer_id());
    number("producer_epoch", batch.producer_epoch());
    number("base_sequence", batch.base_sequence());
    text("crc32c", fmt::format("{:08x}", batch.crc()));
    if (!problem.empty()) text("problem", problem);
    out_.end_object();
  }
  void end_run() override {
    out_.end_array();
    out_.end_object();
  }
  std::string finish(bool is_intact) override {
    out_.end_array();
    out_.key("intact");
    out_.boolean(is_intact);
    out_.end_object();
    return out_.release() + "\n";
  }

 private:
  void number(std::string_view key, std::int64_t value) {
    out_.key(key);
    out_.number(value);
  }
  void text(std::string_view key, std::string_view value) {
    out_.key(key);
    out_.string(value);
  }

  kafka::JsonWriter out_;
};

WalDump dump(Bytes object, const WalContents& contents, Printer& printer) {
  WalDump out;
  printer.object(contents, object.size());
  for (const WalRun& run : contents.index.runs) {
    Bytes bytes = object.subspan(run.byte_offset, run.byte_length);
    Status checked = check_wal_run(bytes, run);
    std::string run_problem = checked ? "" : checked.error().message;
    printer.run(run, run_problem);
    out.is_intact = out.is_intact && run_problem.empty();
    std::size_t at = 0;
    for (const WalBatchInfo& info : contents.index.batches_of(run)) {
      kafka::RecordBatchView batch(bytes.subspan(at, info.length));
      std::string problem = problem_of(batch, info);
      bool stamped = (info.attributes & kafka::kLogAppendTimeBit) != 0;
      printer.batch(batch, run.byte_offset + at, stamped, problem);
      out.is_intact = out.is_intact && problem.empty();
      at += info.length;
    }
    printer.end_run();
  }
  out.text = printer.finish(out.is_intact);
  return out;
}

}  // namespace

Result<WalDump> dump_wal_object(Bytes object, DumpFormat format) {
  WEIR_TRY(WalContents contents, parse_wal_object(object));
  TextPrinter text;
  JsonPrinter json;
  return dump(object, contents, format == DumpFormat::kJson ? static_cast<Printer&>(json) : text);
}

}  // namespace weir::storage
