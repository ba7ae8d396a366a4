#include "sim/checkers.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>

namespace weir::sim {
namespace {

using Place = std::pair<PartitionIndex, Offset>;

// The value's parts: "i3-1-17" is record 17 for partition 1 of the idempotent producer 3, "p…" of a
// plain one.
struct Origin {
  std::string stream;  // producer and partition
  std::uint64_t number = 0;
  bool idempotent = false;
};

Origin origin_of(const std::string& value) {
  const auto dash = value.rfind('-');
  return {.stream = value.substr(0, dash),
          .number = std::stoull(value.substr(dash + 1)),
          .idempotent = value.starts_with('i')};
}

// What was acknowledged is there at the end, at the offset that was told.
class NothingLost final : public Checker {
 public:
  const char* name() const override { return "nothing lost"; }
  void on_acknowledged(const Seen& record) override {
    acknowledged_[{record.partition, record.offset}] = record.value;
  }
  void on_read(const Seen& record) override {
    read_[{record.partition, record.offset}] = record.value;
  }
  void on_end() override {
    for (const auto& [place, value] : acknowledged_) {
      auto found = read_.find(place);
      if (found != read_.end() && found->second == value) continue;
      violate(fmt::format("{} was acknowledged at {}/{}, where {} stands", value, place.first,
                          place.second, found == read_.end() ? "nothing" : found->second));
    }
  }

 private:
  std::map<Place, std::string> acknowledged_;
  std::map<Place, std::string> read_;
};

class OneValuePerOffset final : public Checker {
 public:
  const char* name() const override { return "one value per offset"; }
  void on_acknowledged(const Seen& record) override { see(record); }
  void on_read(const Seen& record) override { see(record); }

 private:
  void see(const Seen& record) {
    auto [found, is_new] = values_.try_emplace({record.partition, record.offset}, record.value);
    if (is_new || found->second == record.value) return;
    violate(fmt::format("{}/{} has been {} and is {}", record.partition, record.offset,
                        found->second, record.value));
  }
  std::map<Place, std::string> values_;
};

class NoDuplicates final : public Checker {
 public:
  const char* name() const override { return "no duplicates of idempotent producers"; }
  void on_read(const Seen& record) override {
    if (!origin_of(record.value).idempotent) return;
    auto [found, is_new] = offsets_.try_emplace(record.value, record.offset);
    if (is_new || found->second == record.offset) return;
    violate(fmt::format("{} stands at {}/{} and {}", record.value, record.partition, found->second,
                        record.offset));
  }

 private:
  std::unordered_map<std::string, Offset> offsets_;
};

// Records of one idempotent producer stand in the order in which it sent them.
class InOrder final : public Checker {
 public:
  const char* name() const override { return "in order per producer and partition"; }
  void on_read(const Seen& record) override {
    const Origin origin = origin_of(record.value);
    if (origin.idempotent) streams_[origin.stream][record.offset] = origin.number;
  }
  void on_end() override {
    for (const auto& [stream, numbers] : streams_) {
      std::optional<std::uint64_t> last;
      for (const auto& [offset, number] : numbers) {
        if (last && number != *last + 1) {
          violate(fmt::format("{}: {} follows {} at offset {}", stream, number, *last, offset));
        }
        last = number;
      }
    }
  }

 private:
  std::map<std::string, std::map<Offset, std::uint64_t>> streams_;
};

class BoundsOnlyGrow final : public Checker {
 public:
  const char* name() const override { return "high watermark and log start never go back"; }
  void on_bounds(std::uint64_t process, PartitionIndex partition, Offset log_start,
                 Offset high_watermark) override {
    auto& [start, end] = bounds_[{process, partition}];
    if (log_start < start || high_watermark < end) {
      violate(fmt::format("process {}, partition {}: {} to {}, and was {} to {}", process,
                          partition, log_start, high_watermark, start, end));
    }
    start = std::max(start, log_start);
    end = std::max(end, high_watermark);
  }

 private:
  std::map<std::pair<std::uint64_t, PartitionIndex>, std::pair<Offset, Offset>> bounds_;
};

class OneState final : public Checker {
 public:
  const char* name() const override { return "one state at one position"; }
  void on_state(std::int64_t position, std::uint64_t hash) override {
    auto [found, is_new] = hashes_.try_emplace(position, hash);
    if (!is_new && found->second != hash) {
      violate(fmt::format("position {}: {:016x} and {:016x}", position, found->second, hash));
    }
  }

 private:
  std::unordered_map<std::int64_t, std::uint64_t> hashes_;
};

class CommittedOffsetsStay final : public Checker {
 public:
  const char* name() const override { return "committed offsets neither vanish nor go back"; }
  void on_committed(const std::string& group, PartitionIndex partition, Offset offset) override {
    Offset& known = known_[{group, partition}];
    known = std::max(known, offset);
  }
  void on_committed_read(const std::string& group, PartitionIndex partition,
                         Offset offset) override {
    const Offset known = known_[{group, partition}];
    if (offset < known) {
      violate(fmt::format("{}: partition {} has {} and was told that {} stands", group, partition,
                          offset, known));
    }
  }

 private:
  std::map<std::pair<std::string, PartitionIndex>, Offset> known_;
};

}  // namespace

std::vector<std::unique_ptr<Checker>> make_checkers() {
  std::vector<std::unique_ptr<Checker>> all;
  all.push_back(std::make_unique<NothingLost>());
  all.push_back(std::make_unique<OneValuePerOffset>());
  all.push_back(std::make_unique<NoDuplicates>());
  all.push_back(std::make_unique<InOrder>());
  all.push_back(std::make_unique<BoundsOnlyGrow>());
  all.push_back(std::make_unique<OneState>());
  all.push_back(std::make_unique<CommittedOffsetsStay>());
  return all;
}

}  // namespace weir::sim
