// Takes a request frame to the API it is for. Owned by main; called on the core of the connection.
#pragma once
#include "base/units.h"
#include "broker/api.h"
#include "runtime/byte_budget.h"

#include <array>

namespace weir::broker {

class Dispatcher {
 public:
  // `work` is the memory of requests that are long lists while they are served.
  Dispatcher(Broker& broker, ByteBudget& work);

  // Returns when the next request of the connection may start; the answer comes later. `frame` is
  // what stands behind the size. A frame without a readable header, or for an API or version that
  // is not served, gives an error: the connection closes (only ApiVersions answers unknown
  // versions).
  Task<PendingAnswer> start(Slice frame, std::shared_ptr<const void> reservation,
                            ClientConnection& client, std::stop_token closed);

 private:
  static constexpr std::size_t kMaxApiKey = 128;

  // A place in that memory, where one is needed. Errors close the connection: kCancelled (it has
  // gone), kInvalid (it takes more than there is).
  Task<Result<std::shared_ptr<const void>>> reserve_work(kafka::ApiKey key, ByteCount size,
                                                         std::stop_token closed);

  Broker& broker_;
  ByteBudget& work_;
  std::array<const ApiHandler*, kMaxApiKey> handlers_{};
};

}  // namespace weir::broker
