// What clients of a simulation saw, and the checkers that judge it. A checker is told of events and
// writes down what cannot be; the simulation goes on. All on one thread.
#pragma once
#include "base/ids.h"
#include "base/units.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace weir::sim {

struct Violation {
  std::string checker;
  std::string what;
};

// One record as a client knows it. Values are never used twice, but for retries of one record.
struct Seen {
  PartitionIndex partition = 0;
  Offset offset = 0;
  std::string value;
};

class Checker {
 public:
  virtual ~Checker() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  // The producer was told that its record stands there.
  virtual void on_acknowledged(const Seen& record) { static_cast<void>(record); }
  // A consumer read the record.
  virtual void on_read(const Seen& record) { static_cast<void>(record); }
  // A process told of a partition's bounds. `process` is never used twice.
  virtual void on_bounds(std::uint64_t process, PartitionIndex partition, Offset log_start,
                         Offset high_watermark) {
    static_cast<void>(process), static_cast<void>(partition), static_cast<void>(log_start),
        static_cast<void>(high_watermark);
  }
  // A group was told that its offset stands, or what stands.
  virtual void on_committed(const std::string& group, PartitionIndex partition, Offset offset) {
    static_cast<void>(group), static_cast<void>(partition), static_cast<void>(offset);
  }
  virtual void on_committed_read(const std::string& group, PartitionIndex partition,
                                 Offset offset) {
    static_cast<void>(group), static_cast<void>(partition), static_cast<void>(offset);
  }
  // A broker's state after the entry at `position`.
  virtual void on_state(std::int64_t position, std::uint64_t hash) {
    static_cast<void>(position), static_cast<void>(hash);
  }
  // The end: everything that can be read was read, from the log start to the high watermark.
  virtual void on_end() {}

  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 protected:
  // The first few are kept: they tell enough.
  void violate(std::string what);

 private:
  std::vector<std::string> violations_;
};

class History {
 public:
  History();

  // Calls `tell` with each checker.
  void tell(const std::function<void(Checker&)>& tell);
  // From outside the checkers: liveness, and errors that no client should get.
  void violate(const std::string& checker, const std::string& what);
  [[nodiscard]] std::vector<Violation> violations() const;

  std::uint64_t acknowledged = 0;
  std::uint64_t read = 0;

 private:
  std::vector<std::unique_ptr<Checker>> checkers_;
  std::vector<Violation> others_;
};

}  // namespace weir::sim
