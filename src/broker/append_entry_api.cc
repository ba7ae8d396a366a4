// AppendEntry: appends an entry to the metadata log for another broker. Not of Kafka, and not for
// clients: broker/append_for_others.h does the work.
#include "broker/apis.h"
#include "broker/append_for_others.h"
#include "broker/broker.h"

namespace weir::broker {
namespace {

Task<kafka::AppendEntryResponse> append_entry(Broker& broker, const RequestContext&,
                                              const kafka::AppendEntryRequest& request) {
  // One whose epoch ended appends for nobody: above all not to a log of another history.
  metadata::MetadataLog* log = broker.coordinator.broker_epoch() < 0 ? nullptr : broker.shared_log;
  co_return co_await append_for_others(broker.coordinator.image(), broker.node_id, log, request);
}

}  // namespace

const ApiHandler kAppendEntryApi{kafka::ApiKey::kAppendEntry,
                                 &serve<&append_entry, kafka::AppendEntryRequest>};

}  // namespace weir::broker
