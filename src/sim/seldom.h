// A client with several groups that have no members: it commits an offset of each about when the
// one before expires, and looks what stands.
#pragma once
#include "sim/clients.h"

namespace weir::sim {

class SeldomClient {
 public:
  // `retention` of its offsets, and how often brokers look for those that are past it.
  SeldomClient(ClientParts parts, int number, Duration retention, Duration check_interval);

  void start();
  void stop() { tasks_.stop(); }
  [[nodiscard]] bool done() const { return tasks_.running() == 0; }
  [[nodiscard]] const std::vector<std::string>& groups() const { return groups_; }

 private:
  Task<void> run(std::string group);

  ClientParts parts_;
  const Duration retention_;
  const Duration check_interval_;
  std::vector<std::string> groups_;
  Machine& machine_;
  Rng rng_;
  TaskGroup tasks_;
};

}  // namespace weir::sim
