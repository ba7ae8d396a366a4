#include "sim/fetch_session.h"

namespace weir::sim {

void FetchSession::shorten(kafka::FetchRequest& request, BrokerId broker) {
  if (broker != broker_) *this = FetchSession();
  broker_ = broker;
  request.session_id = id_;
  request.session_epoch = epoch_;
  Partitions wanted;
  for (const auto& topic : request.topics) {
    for (const auto& partition : topic.partitions)
      wanted[{topic_number(topic.topic), partition.partition}] = partition;
  }
  if (epoch_ > 0) {
    leave_out_known(request);
    forget_unwanted(request, wanted);
  }
  known_ = std::move(wanted);
}

void FetchSession::leave_out_known(kafka::FetchRequest& request) const {
  for (auto& topic : request.topics) {
    std::erase_if(topic.partitions, [&](const kafka::FetchRequest::Partition& partition) {
      auto known = known_.find({topic_number(topic.topic), partition.partition});
      return known != known_.end() && known->second == partition;
    });
  }
  std::erase_if(request.topics, [](const auto& topic) { return topic.partitions.empty(); });
}

void FetchSession::forget_unwanted(kafka::FetchRequest& request, const Partitions& wanted) const {
  for (const auto& [where, partition] : known_) {
    if (wanted.contains(where)) continue;
    auto& forgotten = request.forgotten_topics_data;
    if (forgotten.empty() || forgotten.back().topic != topic_name(where.topic))
      forgotten.emplace_back().topic = topic_name(where.topic);
    forgotten.back().partitions.push_back(where.partition);
  }
}

void FetchSession::on_answer(const kafka::FetchResponse& answer) {
  if (answer.error_code != kafka::KafkaError::kNone) {
    if (answer.error_code == kafka::KafkaError::kFetchSessionIdNotFound) id_ = 0;
    epoch_ = 0;
    return;
  }
  // Without a number the broker has no room for it, and is asked again with the next request.
  id_ = answer.session_id;
  epoch_ = id_ == 0 ? 0 : epoch_ + 1;
}

}  // namespace weir::sim
