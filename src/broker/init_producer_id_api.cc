// InitProducerId for idempotent producers (KIP-98, KIP-360). Transactions are not served in this
// version.
#include "broker/apis.h"
#include "broker/broker.h"
#include "broker/ids.h"
#include "kafka/error_map.h"
#include "kafka/protocol/messages/init_producer_id.h"

namespace weir::broker {
namespace {

using kafka::InitProducerIdRequest;
using kafka::InitProducerIdResponse;
using kafka::KafkaError;

InitProducerIdResponse failed(KafkaError error) {
  InitProducerIdResponse response;
  response.error_code = error;
  response.producer_epoch = kNoProducerEpoch;
  return response;
}

Task<InitProducerIdResponse> init_producer_id(Broker& broker, const RequestContext&,
                                              const InitProducerIdRequest& request) {
  bool has_one_of_two =
      (request.producer_id == kNoProducerId) != (request.producer_epoch == kNoProducerEpoch);
  if (has_one_of_two) co_return failed(KafkaError::kInvalidRequest);
  if (request.transactional_id) {
    // An empty id is wrong in itself; any other would start a transactional producer.
    co_return failed(request.transactional_id->empty()
                         ? KafkaError::kInvalidRequest
                         : KafkaError::kTransactionalIdAuthorizationFailed);
  }
  auto id = co_await broker.ids.next_producer_id();
  if (!id) co_return failed(KafkaError::kCoordinatorNotAvailable);
  InitProducerIdResponse response;
  response.producer_id = *id;
  response.producer_epoch = 0;
  co_return response;
}

}  // namespace

const ApiHandler kInitProducerIdApi{kafka::ApiKey::kInitProducerId,
                                    &serve<&init_producer_id, InitProducerIdRequest>};

}  // namespace weir::broker
