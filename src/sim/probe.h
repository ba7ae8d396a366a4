// Looks, when nothing is broken any more, whether a commit wakes the fetches that wait for it, on
// whichever broker they wait.
#pragma once
#include "sim/clients.h"

namespace weir::sim {

class Probe {
 public:
  explicit Probe(ClientParts parts);

  void start();
  void stop();
  [[nodiscard]] bool done() const { return tasks_.running() == 0; }

 private:
  Task<void> wait_at(BrokerId broker, Offset end);
  Task<void> run();

  ClientParts parts_;
  Machine& machine_;
  std::optional<MonoTime> acknowledged_;
  bool has_failed_ = false;
  TaskGroup tasks_;
};

}  // namespace weir::sim
