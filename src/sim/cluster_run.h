// A run in its parts; simulation.h is what others use. Everything is owned here, on one thread.
#pragma once
#include "metadata/log/memory_log.h"
#include "sim/admin.h"
#include "sim/clients.h"
#include "sim/group_member.h"
#include "sim/probe.h"
#include "sim/seldom.h"
#include "sim/simulation.h"
#include "sim/snapshot_care.h"
#include "sim/spoiler.h"
#include "sim/witness.h"
#include "storage/memory_store.h"

#include <functional>
#include <memory>
#include <vector>

namespace weir::sim {

// What the seed decides about all brokers.
struct NodeSettings {
  std::vector<std::string> sets;  // key=value
  NodeLimits limits;
  WitnessOptions witness;
  double clock_drift = 0;  // of a broker's clock, at most
  // In some runs committed offsets last for seconds. Then all clocks are right, so that it is known
  // which may have expired.
  std::optional<Duration> short_retention;
  Duration expiry_interval{};  // between two looks for them
};
// Small limits now and then, so that rare paths run often.
[[nodiscard]] NodeSettings draw_settings(Rng& rng);

class ClusterRun {
 public:
  explicit ClusterRun(const SimulationOptions& options);
  // May be called once.
  SimulationResult run();
  [[nodiscard]] bool has_ended() const { return has_ended_; }

 private:
  void add_nodes(const NodeSettings& settings);
  bool begin();
  void add_clients();
  void add_groups();
  void spoil();
  // judgement.cc
  void calm_weather();
  void heal();
  void restart_failed();
  void wake_waiting_fetches();
  void stop_clients();
  void look_at_memory(bool is_idle);
  void restart_nodes();
  void read_everything();
  void judge_objects();
  // restoring.cc
  void restore_log();
  void start_lost_clients();
  void stop_lost_clients();
  void begin_storm();
  void end_storm();
  void put_back(metadata::MemoryLog::Image backup, metadata::Position tail);
  // `is_helped`: what looks after processes starts those anew that cannot do so themselves.
  void wait_until_noticed(bool is_helped);
  Task<void> look_who_noticed();
  void report_unnoticed();
  void work_on();
  Task<void> compare_brokers();
  // False: something of it runs on, so that nothing may be destroyed.
  bool end();

  Task<void> look_at_states();
  Task<void> look_at_snapshots();
  // Goes on until it is so, or reports that it is not.
  bool wait_for(Duration most, const std::function<bool()>& done) {
    return world_.run_until(done, most);
  }
  void stuck(const std::string& subject, const std::string& what);
  [[nodiscard]] bool are_nodes_ready() const;
  [[nodiscard]] bool has_read_all(const std::string& group) const;
  void report_unwell();
  [[nodiscard]] std::vector<Violation> violations() const;

  SimulationOptions options_;
  World world_;
  Rng rng_;
  Weather weather_;
  Machine& nature_;
  NodeSettings settings_;
  History history_;
  storage::MemoryStore store_;
  metadata::MemoryLog log_;
  Witness witness_;
  TaskGroup late_;
  TaskGroup creating_;
  TaskGroup watching_;
  TaskGroup judging_;
  TaskGroup noticing_;
  ClientParts parts_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::optional<SnapshotCare> snapshots_;  // none: the log is in the store
  std::optional<Spoiler> spoiler_;
  std::vector<std::string> groups_;
  std::vector<std::unique_ptr<Producer>> producers_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
  std::vector<std::unique_ptr<GroupMember>> members_;
  std::vector<std::unique_ptr<SeldomClient>> seldom_;
  std::vector<std::unique_ptr<Admin>> admins_;
  std::optional<Probe> probe_;
  std::optional<History> lost_;   // by clients, of entries that the log loses; not judged
  std::optional<History> after_;  // the log went back
  // Processes that have seen what is lost, and are not known to have noticed.
  std::map<BrokerId, std::weak_ptr<SimProcess>> ahead_;
  bool has_ended_ = false;
};

}  // namespace weir::sim
