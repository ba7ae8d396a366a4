// What the APIs work with: the parts of this broker, put together by main. References to objects
// that outlive every request.
#pragma once
#include "fetch/fetch_session.h"
#include "fetch/fetcher.h"
#include "fetch/offset_lookup.h"
#include "metadata/coordinator.h"
#include "produce/stage.h"
#include "runtime/clock.h"
#include "runtime/task_group.h"

namespace weir::groups {
class GroupCoordinator;
}

namespace weir::broker {

class IdSource;
class Configs;
class WorkMemory;

struct Broker {
  BrokerId node_id;
  Clock& clock;
  metadata::Coordinator& coordinator;
  Configs& configs;
  WorkMemory& work;
  IdSource& ids;
  produce::Stage& stage;
  fetch::Fetcher& fetcher;
  fetch::FetchSessionCache& fetch_sessions;
  fetch::OffsetLookup& offset_lookup;
  groups::GroupCoordinator& groups;
  // Where this broker appends for others; null: it does not.
  metadata::MetadataLog* shared_log;
  TaskGroup& tasks;  // answers on their way
};

}  // namespace weir::broker
