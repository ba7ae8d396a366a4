// What goes wrong, and how often: drawn from the seed, so that some runs have many faults of one
// kind and others none. Times are virtual.
#pragma once
#include "base/error.h"
#include "base/ids.h"
#include "runtime/clock.h"
#include "runtime/rng.h"

#include <map>
#include <string>

namespace weir::sim {

// Of one kind of call, each in 0 to 1.
struct CallFaults {
  Duration typical{};    // a call takes half to twice this,
  double slow = 0;       // and this part of them a hundred times as long
  double refused = 0;    // an error, without effect
  double lost = 0;       // an error although it took effect
  double late = 0;       // an error, and the effect comes later
  double final = 0;      // this part of those errors has a code that nobody tries again after
  double repeated = 0;   // it takes effect again, later
  double damaged = 0;    // a byte of the answer is another
  double cut_short = 0;  // the end of the answer is missing
};

struct Faults {
  CallFaults put;
  CallFaults get;
  CallFaults append;
  CallFaults read;  // of the log
  CallFaults
      network;  // between clients and brokers; refused: the request is lost, lost: the answer
  // Between two of them, on average; zero: never.
  Duration kills{};
  Duration pauses{};
  Duration pause{};    // how long one is, at most
  Duration outages{};  // of the store or the log, for all brokers
  Duration outage{};
  Duration cuts{};  // of one broker's way to the store, to the log or to the clients
  Duration cut{};
  Duration clock_jumps{};
  Duration far_clock_jumps{};  // of one broker by hours, for a while
  Duration snapshot_damage{};  // of the latest snapshot in the store
};

[[nodiscard]] Faults draw_faults(Rng& rng);
// Delays only.
[[nodiscard]] Faults no_faults();

// What a broker does not reach.
struct Cut {
  bool store = false;
  bool log = false;
  bool clients = false;
};

// The faults of now; the simulation changes them under everybody.
struct Weather {
  Faults faults;
  bool store_down = false;
  bool log_down = false;
  std::map<BrokerId, Cut> cuts;
  bool had_damage = false;  // the store may have answered with damaged bytes
  bool had_far_clocks = false;
  bool had_faults = false;  // and reads that are answered now may have failed

  [[nodiscard]] Cut cut(BrokerId broker) const {
    auto found = cuts.find(broker);
    return found == cuts.end() ? Cut{} : found->second;
  }
};

[[nodiscard]] bool happens(Rng& rng, double probability);
// The error of a call that fails: with the code `usual`, or one that is not retriable. What it says
// of the outcome is the same.
[[nodiscard]] Error draw_error(Rng& rng, const CallFaults& faults, ErrorCode usual,
                               std::string message);
[[nodiscard]] Duration draw_delay(Rng& rng, const CallFaults& faults);
// Until the next event of a kind that comes every `mean`.
[[nodiscard]] Duration draw_interval(Rng& rng, Duration mean);

}  // namespace weir::sim
