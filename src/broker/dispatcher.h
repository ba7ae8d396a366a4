// Takes a request frame to the API it is for. Owned by main; called on the core of the connection.
#pragma once
#include "broker/api.h"

#include <array>

namespace weir::broker {

class Dispatcher {
 public:
  explicit Dispatcher(Broker& broker);

  // Returns when the next request of the connection may start; the answer comes later. `frame` is
  // what stands behind the size. A frame without a readable header, or for an API or version that
  // is not served, gives an error: the connection closes (only ApiVersions answers unknown
  // versions).
  Task<PendingAnswer> start(Slice frame, std::shared_ptr<const void> reservation,
                            ClientConnection& client, std::stop_token closed);

  [[nodiscard]] bool is_short_of_memory() const;

 private:
  static constexpr std::size_t kMaxApiKey = 128;

  Broker& broker_;
  std::array<const ApiHandler*, kMaxApiKey> handlers_{};
};

}  // namespace weir::broker
