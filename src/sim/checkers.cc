#include "sim/checkers.h"

namespace weir::sim {

Checkers make_checkers() {
  Checkers all;
  add_record_checkers(all);
  add_group_checkers(all);
  add_broker_checkers(all);
  return all;
}

}  // namespace weir::sim
