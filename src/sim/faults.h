// What goes wrong, and how often: drawn from the seed, so that some runs have many faults of one
// kind and others none. Times are virtual.
#pragma once
#include "runtime/clock.h"
#include "runtime/rng.h"

namespace weir::sim {

// Of one kind of call, each in 0 to 1.
struct CallFaults {
  Duration typical{};  // a call takes half to twice this,
  double slow = 0;     // and this part of them a hundred times as long
  double refused = 0;  // an error, without effect
  double lost = 0;     // an error although it took effect
  double late = 0;     // an error, and the effect comes later
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
  Duration outages{};  // of the store or the log
  Duration outage{};
  Duration clock_jumps{};
};

[[nodiscard]] Faults draw_faults(Rng& rng);
// Delays only.
[[nodiscard]] Faults no_faults();

// The faults of now; the simulation changes them under everybody.
struct Weather {
  Faults faults;
  bool store_down = false;
  bool log_down = false;
};

[[nodiscard]] bool happens(Rng& rng, double probability);
[[nodiscard]] Duration draw_delay(Rng& rng, const CallFaults& faults);
// Until the next event of a kind that comes every `mean`.
[[nodiscard]] Duration draw_interval(Rng& rng, Duration mean);

}  // namespace weir::sim
