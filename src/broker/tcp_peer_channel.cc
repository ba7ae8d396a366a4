#include "broker/tcp_peer_channel.h"

#include "base/byte_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::broker {
namespace {

// Above every answer to AppendEntry: what it brings along, and one entry.
constexpr std::uint32_t kAnswerMax = 32U << 20U;

std::unexpected<Error> not_sent(const Error& error) {
  return fail(ErrorCode::kUnavailable, error.to_string());
}
std::unexpected<Error> unknown(const Error& error) {
  return fail(ErrorCode::kTimeout, error.to_string());
}

}  // namespace

TcpPeerChannel::TcpPeerChannel(net::Connector& connector, Clock& clock, Executor executor,
                               PeerChannelOptions options)
    : connector_(connector),
      clock_(clock),
      options_(std::move(options)),
      deadline_(clock, std::move(executor), [this] {
        if (stream_) stream_->close();
      }) {}

Task<Result<Slice>> TcpPeerChannel::exchange(const metadata::BrokerImage& to, Chain frame) {
  if (is_busy_) co_return fail(ErrorCode::kUnavailable, "another request is under way");
  is_busy_ = true;
  auto answer = co_await exchange_alone(to, std::move(frame));
  is_busy_ = false;
  if (!answer) stream_.reset();
  co_return answer;
}

Task<Result<Slice>> TcpPeerChannel::exchange_alone(const metadata::BrokerImage& to, Chain frame) {
  if (!stream_ || epoch_ != to.epoch) {
    if (Status connected = co_await connect(to); !connected) {
      co_return not_sent(connected.error());
    }
  }
  deadline_.set(clock_.now() + options_.answer);
  auto answer = co_await ask(std::move(frame));
  deadline_.clear();
  if (!answer) co_return unknown(answer.error());
  co_return answer;
}

Task<Status> TcpPeerChannel::connect(const metadata::BrokerImage& to) {
  stream_.reset();
  if (to.endpoints.empty()) co_return fail(ErrorCode::kNotFound, "it has no listener");
  auto at = std::ranges::find(to.endpoints, options_.listener, &metadata::Endpoint::listener);
  const metadata::Endpoint& endpoint = at == to.endpoints.end() ? to.endpoints.front() : *at;
  net::Origin origin{.host = endpoint.host, .port = static_cast<std::uint16_t>(endpoint.port)};
  WEIR_CO_TRY(stream_,
              co_await connector_.connect(std::move(origin), clock_.now() + options_.connect));
  epoch_ = to.epoch;
  co_return Status();
}

Task<Result<Slice>> TcpPeerChannel::ask(Chain frame) {
  WEIR_CO_CHECK(co_await net::write_all(*stream_, std::move(frame)));
  std::array<std::byte, sizeof(std::uint32_t)> head;
  WEIR_CO_CHECK(co_await net::read_exactly(*stream_, head));
  const std::uint32_t size = ByteReader(head).u32();
  if (size > kAnswerMax) {
    co_return fail(ErrorCode::kInvalid, fmt::format("it answers with {} bytes", size));
  }
  Buffer answer(size);
  WEIR_CO_CHECK(co_await net::read_exactly(*stream_, answer.bytes()));
  co_return answer.slice();
}

}  // namespace weir::broker
