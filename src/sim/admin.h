// An administrator: deletes records, creates, grows and deletes topics, changes configurations, and
// asks where partitions end.
#pragma once
#include "sim/clients.h"

namespace weir::sim {

class Admin {
 public:
  Admin(ClientParts parts, int number);

  void start() { tasks_.spawn(machine_.executor(), run()); }
  void stop() { tasks_.stop(); }
  [[nodiscard]] bool done() const { return tasks_.running() == 0; }

 private:
  Task<void> run();
  Task<void> ask_for_end();
  Task<void> delete_records();
  Task<void> create_topic();
  Task<void> grow_topic();
  Task<void> write_to_topic();
  Task<void> delete_topic();
  Task<void> alter_configs();
  [[nodiscard]] std::string any_topic();
  [[nodiscard]] Where any_partition(std::int32_t topic);

  ClientParts parts_;
  const int number_;
  Machine& machine_;
  Rng rng_;
  Link link_;
  std::map<Where, Offset> ends_;     // as it knows them
  std::vector<std::string> topics_;  // of its own
  int made_ = 0;
  TaskGroup tasks_;
};

}  // namespace weir::sim
