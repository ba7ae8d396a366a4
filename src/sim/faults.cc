#include "sim/faults.h"

#include <array>
#include <cmath>

namespace weir::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A third of the seeds has no fault of a kind, a third few, a third many.
double draw_rate(Rng& rng, double most) {
  switch (rng.below(3)) {
    case 0:
      return 0;
    case 1:
      return most * 0.1 * rng.unit();
    default:
      return most * rng.unit();
  }
}

CallFaults draw_call_faults(Rng& rng, Duration typical) {
  CallFaults faults{.typical = typical};
  faults.slow = draw_rate(rng, 0.05);
  faults.refused = draw_rate(rng, 0.2);
  faults.lost = draw_rate(rng, 0.1);
  faults.late = draw_rate(rng, 0.03);
  faults.final = draw_rate(rng, 0.5);
  return faults;
}

Duration draw_mean(Rng& rng, Duration least) {
  if (rng.below(3) == 0) return Duration::zero();
  return Duration(
      static_cast<Duration::rep>(static_cast<double>(least.count()) * (1 + 5 * rng.unit())));
}

}  // namespace

Faults no_faults() {
  Faults faults;
  faults.put.typical = milliseconds(20);
  faults.get.typical = milliseconds(10);
  faults.append.typical = milliseconds(3);
  faults.read.typical = milliseconds(1);
  faults.network.typical = milliseconds(1);
  return faults;
}

Faults draw_faults(Rng& rng) {
  Faults faults = no_faults();
  for (CallFaults* call :
       {&faults.put, &faults.get, &faults.append, &faults.read, &faults.network}) {
    *call = draw_call_faults(rng, call->typical);
  }
  faults.put.repeated = draw_rate(rng, 0.05);
  faults.append.repeated = draw_rate(rng, 0.05);
  faults.get.damaged = draw_rate(rng, 0.05);
  faults.get.cut_short = draw_rate(rng, 0.05);
  faults.kills = draw_mean(rng, seconds(4));
  faults.pauses = draw_mean(rng, seconds(4));
  faults.pause = rng.below(2) == 0 ? milliseconds(500) : seconds(20);
  faults.outages = draw_mean(rng, seconds(6));
  faults.outage = seconds(4);
  faults.cuts = draw_mean(rng, seconds(2));
  faults.cut = seconds(10);
  faults.clock_jumps = draw_mean(rng, seconds(10));
  faults.snapshot_damage = draw_mean(rng, seconds(3));
  faults.far_clock_jumps = draw_mean(rng, seconds(5));
  return faults;
}

bool happens(Rng& rng, double probability) { return rng.unit() < probability; }

Error draw_error(Rng& rng, const CallFaults& faults, ErrorCode usual, std::string message) {
  constexpr std::array kFinal = {ErrorCode::kInvalid, ErrorCode::kExhausted, ErrorCode::kInternal};
  const bool is_final = happens(rng, faults.final);
  return {is_final ? kFinal[rng.below(kFinal.size())] : usual, std::move(message)};
}

Duration draw_delay(Rng& rng, const CallFaults& faults) {
  constexpr double kSlower = 100;
  const double factor = (0.5 + 1.5 * rng.unit()) * (happens(rng, faults.slow) ? kSlower : 1);
  return Duration(static_cast<Duration::rep>(static_cast<double>(faults.typical.count()) * factor));
}

Duration draw_interval(Rng& rng, Duration mean) {
  return Duration(
      static_cast<Duration::rep>(-std::log(1 - rng.unit()) * static_cast<double>(mean.count())));
}

}  // namespace weir::sim
