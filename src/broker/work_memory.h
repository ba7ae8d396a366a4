// The memory of what requests become while they are served: decoded arrays, what is known of each
// item, the response. It is many times the request where that is a list, so such requests reserve
// it; the frame itself is in the budget of its listener. Owned by main; thread-safe.
#pragma once
#include "base/error.h"
#include "base/units.h"
#include "runtime/byte_budget.h"

#include <stop_token>

namespace weir::broker {

class WorkMemory {
 public:
  explicit WorkMemory(ByteCount limit) : budget_(limit) {}

  struct Place {
    ByteBudget::Reservation reservation;
    ByteCount bytes = 0;
  };

  // For a request of `size` bytes that is a list from its first byte to its last; an empty place
  // for a small one, which goes free. Errors close the connection: kCancelled (`closed`), kInvalid
  // (more than there can be; the message says what would be right).
  Task<Result<Place>> reserve_list(ByteCount size, std::stop_token closed);

  // For `bytes` that are known. Errors: kCancelled.
  Task<Result<Place>> reserve(ByteCount bytes, std::stop_token closed);

  // The same for one that has a place already, as a long list, and may get more than there is: two
  // of them do not wait for each other. At most limit() bytes. Errors: kCancelled.
  Task<Result<Place>> extend(ByteCount bytes, std::stop_token closed);

  // The same without waiting: an empty place when it would have to wait.
  [[nodiscard]] Place try_reserve(ByteCount bytes);
  // Another place in the place of `held`, not larger.
  [[nodiscard]] Place exchange(Place held, ByteCount bytes);

  // What is less than the rest that a connection takes goes free.
  [[nodiscard]] static bool is_little(ByteCount bytes);

  [[nodiscard]] std::size_t waiting() const { return budget_.waiting(); }
  [[nodiscard]] ByteCount used() const { return budget_.used(); }
  [[nodiscard]] ByteCount limit() const { return budget_.limit(); }

 private:
  ByteBudget budget_;
};

// One handle for two.
[[nodiscard]] std::shared_ptr<const void> both(std::shared_ptr<const void> one,
                                               std::shared_ptr<const void> other);

}  // namespace weir::broker
