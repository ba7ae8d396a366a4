#include "sim/checkers.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>

namespace weir::sim {
namespace {

using Values = std::map<Where, std::unordered_map<Offset, std::string>>;

// The value's parts: "i3-0-1-17" is record 17 for partition 1 of topic 0 of the idempotent producer
// 3, "p…" of a plain one, "s…" of one with acks=0.
struct Origin {
  std::string stream;  // producer, topic and partition
  std::uint64_t number = 0;
  bool idempotent = false;
};

Origin origin_of(const std::string& value) {
  const auto dash = value.rfind('-');
  return {.stream = value.substr(0, dash),
          .number = std::stoull(value.substr(dash + 1)),
          .idempotent = value.starts_with('i')};
}

// What was acknowledged is there at the end, at the offset that was told, unless it was deleted.
class NothingLost final : public Checker {
 public:
  const char* name() const override { return "nothing lost"; }
  void on_acknowledged(const Seen& record) override {
    acknowledged_[{record.where, record.offset}] = record.value;
  }
  void on_read(const Seen& record) override { read_[record.where][record.offset] = record.value; }
  // What was read before may be lost since.
  void on_last_reading() override { read_.clear(); }
  void on_trim_asked(const Where& where, Offset offset) override {
    Offset& start = trimmed_[where];
    start = std::max(start, offset);
  }
  void on_end() override {
    for (const auto& [place, value] : acknowledged_) {
      const auto& [where, offset] = place;
      const auto& read = read_[where];
      auto found = read.find(offset);
      if (found != read.end() && found->second == value) continue;
      if (found == read.end() && offset >= 0 && offset < trimmed_[where]) continue;
      violate(to_string(where),
              fmt::format("{} was acknowledged at {}/{}, where {} stands", value, to_string(where),
                          offset, found == read.end() ? "nothing" : found->second));
    }
  }

 private:
  std::map<std::pair<Where, Offset>, std::string> acknowledged_;
  Values read_;
  std::map<Where, Offset> trimmed_;
};

class OneValuePerOffset final : public Checker {
 public:
  const char* name() const override { return "one value per offset"; }
  void on_acknowledged(const Seen& record) override { see(record); }
  void on_read(const Seen& record) override { see(record); }

 private:
  void see(const Seen& record) {
    auto [found, is_new] = values_[record.where].try_emplace(record.offset, record.value);
    if (is_new || found->second == record.value) return;
    violate(to_string(record.where),
            fmt::format("{}/{} has been {} and is {}", to_string(record.where), record.offset,
                        found->second, record.value));
  }
  Values values_;
};

// Of idempotent producers, and of what is sent with acks=0, and never again.
class NoDuplicates final : public Checker {
 public:
  const char* name() const override { return "no duplicates but by retries of plain producers"; }
  void on_read(const Seen& record) override {
    if (record.value.starts_with('p')) return;
    auto [found, is_new] = offsets_.try_emplace(record.value, record.offset);
    if (is_new || found->second == record.offset) return;
    violate(to_string(record.where),
            fmt::format("{} stands at {}/{} and {}", record.value, to_string(record.where),
                        found->second, record.offset));
  }

 private:
  std::unordered_map<std::string, Offset> offsets_;
};

// Records of one idempotent producer stand in the order in which it sent them, none left out but
// those that were deleted.
class InOrder final : public Checker {
 public:
  const char* name() const override { return "in order per producer and partition"; }
  void on_trim_asked(const Where& where, Offset offset) override {
    Offset& start = trimmed_[where];
    start = std::max(start, offset);
  }
  void on_read(const Seen& record) override { read_[record.where][record.offset] = record.value; }
  // What was read before may be deleted since, or lost.
  void on_last_reading() override {
    judge();
    read_.clear();
  }
  void on_end() override { judge(); }

 private:
  using Stream = std::map<Offset, std::uint64_t>;

  void judge() {
    std::map<std::pair<Where, std::string>, Stream> streams;
    for (const auto& [where, values] : read_) {
      for (const auto& [offset, value] : values) {
        const Origin origin = origin_of(value);
        if (origin.idempotent) streams[{where, origin.stream}][offset] = origin.number;
      }
    }
    for (const auto& [stream, numbers] : streams) judge(stream.first, stream.second, numbers);
  }
  void judge(const Where& where, const std::string& producer, const Stream& numbers) {
    std::optional<std::uint64_t> last;
    Offset at = 0;  // where it stands
    for (const auto& [offset, number] : numbers) {
      const bool may_miss = std::exchange(at, offset) < trimmed_[where];
      if (last && (may_miss ? number <= *last : number != *last + 1)) {
        violate(to_string(where),
                fmt::format("{}: {} follows {} at offset {}", producer, number, *last, offset));
      }
      last = number;
    }
  }

  Values read_;
  std::map<Where, Offset> trimmed_;
};

// What a plain producer sent on one connection stands in the order of sending.
class SentInOrder final : public Checker {
 public:
  const char* name() const override { return "in the order of sending"; }
  void on_batch(const SentBatch& batch) override {
    auto& sent = sent_[{batch.connection, batch.where}];
    auto after = sent.upper_bound(batch.number);
    const bool is_before_next = after == sent.end() || batch.base_offset < after->second;
    const bool is_after_last =
        after == sent.begin() || std::prev(after)->second < batch.base_offset;
    if (!is_before_next || !is_after_last) {
      violate(to_string(batch.where),
              fmt::format("{}: what was sent as number {} got offset {}, beside others of its "
                          "connection that were sent before and stand after it, or the reverse",
                          to_string(batch.where), batch.number, batch.base_offset));
    }
    sent[batch.number] = batch.base_offset;
  }
  void on_sent(const SentBatch& batch, const std::string& first) override {
    unseen_[first] = batch;
  }
  void on_read(const Seen& record) override {
    auto seen = unseen_.extract(record.value);
    if (seen.empty()) return;
    seen.mapped().base_offset = record.offset;
    on_batch(seen.mapped());
  }

 private:
  std::unordered_map<std::string, SentBatch> unseen_;  // by their first values
  std::map<std::pair<std::uint64_t, Where>, std::map<std::uint64_t, Offset>> sent_;
};

class SilenceIsKept final : public Checker {
 public:
  const char* name() const override { return "what is sent with acks=0 is not answered"; }
  void on_unasked_answer(BrokerId broker) override {
    violate(fmt::format("broker {}", broker),
            fmt::format("broker {} answers a request with acks=0", broker));
  }
};

class DenseOffsets final : public Checker {
 public:
  const char* name() const override { return "no offset left out"; }
  void on_gap(const Where& where, Offset expected, Offset offset) override {
    violate(to_string(where),
            fmt::format("{}: {} follows {}", to_string(where), offset, expected - 1));
  }
};

class WholeBatches final : public Checker {
 public:
  const char* name() const override { return "every batch is whole"; }
  void on_broken_batch(const Where& where, Offset offset) override {
    violate(to_string(where), fmt::format("{} at offset {}", to_string(where), offset));
  }
};

// A broker that is behind waits or says so; it does not know better than the consumer.
class NoWrongErrors final : public Checker {
 public:
  const char* name() const override { return "no wrong errors"; }
  void on_trim_asked(const Where& where, Offset offset) override {
    Offset& start = trimmed_[where];
    start = std::max(start, offset);
  }
  void on_out_of_range(const Where& where, Offset offset) override {
    if (offset < trimmed_[where]) return;
    violate(to_string(where),
            fmt::format("fetch at {}/{}: OFFSET_OUT_OF_RANGE", to_string(where), offset));
  }
  void on_damage_told(const Where& where, Offset offset, bool is_possible) override {
    if (is_possible) return;
    violate(to_string(where),
            fmt::format("fetch at {}/{}: its object is told to be damaged or missing, and is not",
                        to_string(where), offset));
  }

 private:
  std::map<Where, Offset> trimmed_;
};

class OnlyWhatWasAskedFor final : public Checker {
 public:
  const char* name() const override { return "a fetch answers what was asked for"; }
  void on_unasked_partition(const Where& where, BrokerId broker) override {
    violate(to_string(where),
            fmt::format("broker {} answers a fetch with {}, which it does not ask for", broker,
                        to_string(where)));
  }
};

// Of one process: what was asked for when another answer had come already tells no less.
class BoundsOnlyGrow final : public Checker {
 public:
  const char* name() const override { return "high watermark and log start never go back"; }
  void on_bounds(const Bounds& told) override {
    auto& all = told_[{told.process, told.where}];
    auto after = all.lower_bound(told.asked);
    if (after != all.begin()) look(told, std::prev(after)->second);
    const Reached last = all.empty() ? Reached() : all.rbegin()->second;
    const Reached now{.start = std::max(last.start, told.log_start),
                      .end = std::max(last.end, told.high_watermark)};
    if (now != last) all[told.at] = now;
  }

 private:
  // The highest of all answers so far.
  struct Reached {
    Offset start = 0;
    Offset end = 0;
    bool operator==(const Reached&) const = default;
  };
  void look(const Bounds& told, const Reached& before) {
    if (told.log_start >= before.start && told.high_watermark >= before.end) return;
    violate(to_string(told.where), fmt::format("process {}, {}: {} to {}, and was {} to {}",
                                               told.process, to_string(told.where), told.log_start,
                                               told.high_watermark, before.start, before.end));
  }
  // By when the answer came.
  std::map<std::pair<std::uint64_t, Where>, std::map<Moment, Reached>> told_;
};

// Whatever a broker told of a partition's end stood in the log when it answered. A log of which
// nothing is told is not looked at.
class EndsAreInTheLog final : public Checker {
 public:
  const char* name() const override { return "no partition is told to end beyond the log"; }
  void on_log_end(const Where& where, MonoTime when, Offset end) override {
    auto& ends = ends_[where];
    if (ends.empty() || ends.rbegin()->second != end) ends[when] = end;
  }
  void on_end_told(const Where& where, MonoTime answered, Offset end) override {
    auto known = ends_.find(where);
    if (known == ends_.end()) return;
    auto after = known->second.upper_bound(answered);
    const Offset real = after == known->second.begin() ? 0 : std::prev(after)->second;
    if (end <= real) return;
    violate(to_string(where), fmt::format("{} was told to end at {}, and ended at {} in the log",
                                          to_string(where), end, real));
  }

 private:
  std::map<Where, std::map<MonoTime, Offset>> ends_;
};

class NothingDeletedUnasked final : public Checker {
 public:
  const char* name() const override { return "nothing is deleted unasked"; }
  void on_trim_asked(const Where& where, Offset offset) override {
    Offset& start = asked_[where];
    start = std::max(start, offset);
  }
  void on_bounds(const Bounds& told) override {
    if (told.log_start <= asked_[told.where]) return;
    violate(to_string(told.where),
            fmt::format("{} starts at {}, and was asked to start at {}", to_string(told.where),
                        told.log_start, asked_[told.where]));
  }

 private:
  std::map<Where, Offset> asked_;
};

// Who asks for the end of a partition is told of all that was acknowledged before.
class LatestIsLatest final : public Checker {
 public:
  const char* name() const override { return "the latest offset is not stale"; }
  void on_acknowledged(const Seen& record) override {
    auto& ends = ends_[record.where];
    const Offset end = std::max(record.offset + 1, ends.empty() ? 0 : ends.rbegin()->second);
    ends[record.at] = end;
  }
  void on_latest(const Where& where, Moment asked, Offset offset) override {
    const auto& ends = ends_[where];
    auto after = ends.lower_bound(asked);
    if (after == ends.begin() || std::prev(after)->second <= offset) return;
    violate(to_string(where), fmt::format("{} was told to end at {}, and {} had been acknowledged",
                                          to_string(where), offset, std::prev(after)->second - 1));
  }

 private:
  std::map<Where, std::map<Moment, Offset>> ends_;
};

}  // namespace

void add_record_checkers(Checkers& all) {
  all.push_back(std::make_unique<NothingLost>());
  all.push_back(std::make_unique<OneValuePerOffset>());
  all.push_back(std::make_unique<NoDuplicates>());
  all.push_back(std::make_unique<InOrder>());
  all.push_back(std::make_unique<SentInOrder>());
  all.push_back(std::make_unique<SilenceIsKept>());
  all.push_back(std::make_unique<DenseOffsets>());
  all.push_back(std::make_unique<WholeBatches>());
  all.push_back(std::make_unique<NoWrongErrors>());
  all.push_back(std::make_unique<OnlyWhatWasAskedFor>());
  all.push_back(std::make_unique<BoundsOnlyGrow>());
  all.push_back(std::make_unique<EndsAreInTheLog>());
  all.push_back(std::make_unique<NothingDeletedUnasked>());
  all.push_back(std::make_unique<LatestIsLatest>());
}

}  // namespace weir::sim
