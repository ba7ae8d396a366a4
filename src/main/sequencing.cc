#include "main/sequencing.h"

namespace weir {

Result<std::unique_ptr<Sequencing>> Sequencing::open(BrokerId self, const std::string& listener,
                                                     Clock& clock, Executor executor) {
  WEIR_TRY(auto connector, net::make_system_connector(clock, ""));
  return std::unique_ptr<Sequencing>(
      new Sequencing(self, listener, clock, std::move(executor), std::move(connector)));
}

Sequencing::Sequencing(BrokerId self, const std::string& listener, Clock& clock, Executor executor,
                       std::unique_ptr<net::Connector> connector)
    : self_(self),
      clock_(clock),
      connector_(std::move(connector)),
      channel_(*connector_, clock, std::move(executor), {.listener = listener}),
      carrier_(self, channel_) {}

std::unique_ptr<metadata::MetadataLog> Sequencing::wrap(std::unique_ptr<metadata::MetadataLog> log,
                                                        MetricsRegistry& metrics) {
  auto sequenced = std::make_unique<metadata::SequencedLog>(std::move(log), carrier_, clock_,
                                                            Rng::from_entropy(), metrics);
  log_ = sequenced.get();
  return sequenced;
}

void Sequencing::watch(metadata::Coordinator& coordinator) {
  watch_.emplace(coordinator, self_, *log_);
  coordinator.add_listener(*watch_);
}

}  // namespace weir
