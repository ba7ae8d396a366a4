// A client's end of a fetch session (KIP-227): what the broker knows is left out of requests. One
// thread.
#pragma once
#include "kafka/protocol/messages/fetch.h"
#include "sim/history.h"

#include <map>

namespace weir::sim {

class FetchSession {
 public:
  // Takes out of a whole request what `broker` knows, and names what is wanted no more.
  void shorten(kafka::FetchRequest& request, BrokerId broker);
  void on_answer(const kafka::FetchResponse& answer);
  // Whether the broker read the request is not known: the next one is whole, and ends the session.
  void on_no_answer() { epoch_ = 0; }

 private:
  using Partitions = std::map<Where, kafka::FetchRequest::Partition>;
  void leave_out_known(kafka::FetchRequest& request) const;
  void forget_unwanted(kafka::FetchRequest& request, const Partitions& wanted) const;

  BrokerId broker_ = -1;
  std::int32_t id_ = 0;  // 0: none
  std::int32_t epoch_ = 0;
  Partitions known_;  // to the broker
};

}  // namespace weir::sim
