#include "broker/api.h"

namespace weir::broker {

PendingAnswer answered(Answer answer) {
  PendingAnswer pending;
  pending.set(std::move(answer));
  return pending;
}

}  // namespace weir::broker
