// Which brokers live, as one of them sees it (docs/architecture.md, "Membership"): when this one
// must show itself in the log, and which others stood still for longer than the session. A broker
// lives while the position of its last record moves; how long it stands still is measured with the
// watcher's own monotonic time, so no two clocks are compared. Time in which this broker could not
// see the log does not count.
//
// A plain value of the coordinator's thread.
#pragma once
#include "metadata/state/tables.h"
#include "runtime/clock.h"

#include <algorithm>
#include <map>
#include <vector>

namespace weir::metadata {

struct MembershipOptions {
  // Without a record for this long, a broker is fenced by the others.
  Duration session_timeout = std::chrono::seconds(3);
  // A broker that has appended nothing for this long, or up to a sixteenth longer, appends a
  // heartbeat. Less than the session.
  Duration heartbeat_interval = std::chrono::seconds(1);
  // After an outage of the log, how much later than this one the others may reach it again: a
  // connection may still be tried in vain, and a pause between attempts must pass.
  Duration return_time = std::chrono::seconds(6);
};

class Membership {
 public:
  Membership(BrokerId self, MembershipOptions options) : self_(self), options_(options) {}

  // What the state says at `now`. To be called whenever entries were applied.
  void look(const std::map<BrokerId, BrokerState>& brokers, MonoTime now);
  // Until then nothing was seen of the others, though they may have lived.
  void was_blind(MonoTime until) { seeing_since_ = std::max(seeing_since_, until); }
  // An outage of the log ended here; for the others it may last for a while.
  void log_came_back(MonoTime at) { was_blind(at + options_.return_time); }
  // What was due at `due` came at `now`: much later, if the process did not run, or the log hung.
  // It may hang for the others for as long again.
  void woke(MonoTime due, MonoTime now);

  // A broker that is alone shows itself to nobody: an idle cluster of one appends nothing.
  [[nodiscard]] bool heartbeat_due(MonoTime now) const;
  // What would fence those that stood still for a session, in order of their ids.
  [[nodiscard]] std::vector<FenceBroker> silent(MonoTime now) const;
  // When to ask again, if nothing happens.
  [[nodiscard]] MonoTime next(MonoTime now) const;

 private:
  struct Seen {
    BrokerEpoch epoch = -1;
    Position last_position = 0;
    MonoTime since;
  };
  [[nodiscard]] MonoTime end_of_session(const Seen& seen) const;
  [[nodiscard]] MonoTime next_heartbeat(const Seen& own) const;

  const BrokerId self_;
  const MembershipOptions options_;
  std::map<BrokerId, Seen> live_;
  MonoTime seeing_since_;
};

}  // namespace weir::metadata
