// A client's way to a node: one connection, made anew after each failure, on a network that delays
// what is sent and breaks. As on a socket, requests arrive in their order, and when one is lost,
// so is what was sent after it.
#pragma once
#include "kafka/protocol/frame.h"
#include "sim/sim_broker.h"

namespace weir::sim {

class Link {
 public:
  // `patience`: for an answer.
  Link(World& world, Machine& client, const Weather& weather, std::vector<SimNode*> nodes,
       Duration patience = std::chrono::seconds(10));

  // The next call goes to another node, one that is ready if there is any.
  void choose();
  void choose(BrokerId id);
  // Told apart for as long as the world lives: a process and this connection to it.
  [[nodiscard]] std::uint64_t connection() const { return connection_id_; }
  // The process that the latest connection goes to, as SimProcess::number().
  [[nodiscard]] std::uint64_t process() const { return process_number_; }
  [[nodiscard]] BrokerId broker() const { return node_->id(); }
  // When the broker gave the answer that the latest call() returned; before it was on its way.
  [[nodiscard]] MonoTime answered() const { return answered_; }

  // True: somebody listens.
  bool connect();
  // A request's frame and its answer's, both without their size. Errors as of call().
  Task<Result<Slice>> exchange(Slice frame);

  // A request that gets no answer; whether one came all the same. After an error, which is one of
  // call(), the next request goes to another node.
  template <typename Request>
  Task<Result<bool>> send(const Request& request, std::int16_t version) {
    WEIR_CO_TRY(Chain frame, kafka::request_frame(++correlation_, "sim", request, version));
    co_return co_await send_frame(frame.flatten().sub(sizeof(std::int32_t)));
  }

  // One request and its response. Errors: kTimeout (lost, or too slow), kUnavailable (no process,
  // or the connection broke). `outcome` of both is unknown.
  template <typename Response, typename Request>
  Task<Result<Response>> call(const Request& request, std::int16_t version) {
    WEIR_CO_TRY(Chain frame, kafka::request_frame(++correlation_, "sim", request, version));
    const std::int32_t correlation = correlation_;
    WEIR_CO_TRY(Slice answer, co_await exchange(frame.flatten().sub(sizeof(std::int32_t))));
    WEIR_CO_TRY(Slice body, kafka::parse_response(answer, Request::kApiKey, version, correlation));
    co_return kafka::decode<Response>(body, version);
  }

 private:
  // Returns when the frame has arrived, or null: nobody listens.
  Task<std::shared_ptr<ServerConnection>> deliver(Slice frame, ServerConnection::Reply reply);
  Task<Result<bool>> send_frame(Slice frame);
  Task<Result<Slice>> wait_for(ServerConnection::Reply reply);

  World& world_;
  Machine& client_;
  const Weather& weather_;
  const Duration patience_;
  std::vector<SimNode*> nodes_;
  Rng rng_;
  SimNode* node_;
  // Not kept alive: processes have links to each other.
  std::weak_ptr<SimProcess> process_;
  std::shared_ptr<ServerConnection> connection_;
  std::uint64_t connection_id_ = 0;
  std::uint64_t process_number_ = 0;
  MonoTime last_arrival_{};
  MonoTime answered_{};
  std::int32_t correlation_ = 0;
};

}  // namespace weir::sim
