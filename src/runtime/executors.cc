#include "runtime/executors.h"

namespace weir {

Executors::Loop::Loop() : work(context.get_executor()), thread([this] { context.run(); }) {}

Executors::Executors(std::size_t cores, std::size_t blocking_threads)
    : coordinator_(std::make_unique<Loop>()), blocking_(blocking_threads) {
  for (std::size_t i = 0; i < cores; ++i) cores_.push_back(std::make_unique<Loop>());
}

Executors::~Executors() { stop(); }

void Executors::stop() {
  auto end = [](Loop& loop) {
    loop.context.stop();
    if (loop.thread.joinable()) loop.thread.join();
  };
  blocking_.stop();
  blocking_.join();
  for (auto& core : cores_) end(*core);
  end(*coordinator_);
}

}  // namespace weir
