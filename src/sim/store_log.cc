#include "sim/store_log.h"

#include "broker/entry_carrier.h"
#include "metadata/log/object_log.h"
#include "sim/link.h"

namespace weir::sim {

// What a request that is lost or late may have done is not known; it may still arrive.
class StoreLog::PeerLink final : public broker::PeerChannel {
 public:
  PeerLink(const Outside& outside, Machine& machine)
      : link_(outside.world, machine, outside.weather, outside.nodes, std::chrono::seconds(2)) {}

  Task<Result<Slice>> exchange(const metadata::BrokerImage& to, Chain frame) override {
    link_.choose(to.id);
    if (is_cut_ || !link_.connect()) co_return fail(ErrorCode::kUnavailable, "nobody listens");
    auto answer = co_await link_.exchange(frame.flatten().sub(sizeof(std::int32_t)));
    if (!answer) co_return fail(ErrorCode::kTimeout, answer.error().to_string());
    co_return answer;
  }

  void cut() { is_cut_ = true; }

 private:
  Link link_;
  bool is_cut_ = false;
};

StoreLog::StoreLog(const Outside& outside, storage::ObjectStore& store, Machine& machine,
                   BrokerId self)
    : self_(self),
      link_(std::make_unique<PeerLink>(outside, machine)),
      carrier_(std::make_unique<broker::EntryCarrier>(self, *link_)) {
  // Without a probe nothing can go wrong here.
  auto log =
      metadata::ObjectLog::open(store, "the simulated store", machine.clock(), machine.executor(),
                                {.probe = false, .rng = outside.world.fork()});
  log_ = std::make_unique<metadata::SequencedLog>(std::move(log).value(), *carrier_,
                                                  machine.clock(), outside.world.fork(), metrics_);
}

StoreLog::~StoreLog() = default;

void StoreLog::watch(metadata::Coordinator& coordinator) {
  watch_.emplace(coordinator, self_, *log_);
  coordinator.add_listener(*watch_);
}

void StoreLog::cut() { link_->cut(); }

}  // namespace weir::sim
