#include "net/connector.h"
#include "net/tcp_stream.h"
#include "net/tls_stream.h"
#include "runtime/lazy_deadline.h"
#include "runtime/oneshot.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

namespace weir::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

std::unexpected<Error> too_late(const Origin& to, std::string_view what) {
  return fail(ErrorCode::kTimeout, fmt::format("{}: no {} in time", to_string(to), what));
}

class SystemConnector final : public Connector {
 public:
  SystemConnector(Clock& clock, std::shared_ptr<TlsClientContext> tls)
      : clock_(clock), tls_(std::move(tls)) {}

  Task<Result<std::unique_ptr<Stream>>> connect(Origin to, MonoTime deadline) override {
    WEIR_CO_TRY(tcp::resolver::results_type addresses, co_await resolve(to, deadline));
    auto executor = co_await asio::this_coro::executor;
    tcp::socket socket(executor);
    bool late = false;
    LazyDeadline limit(clock_, executor, [&] {
      late = true;
      boost::system::error_code ignored;
      socket.close(ignored);
    });
    limit.set(deadline);
    auto [error, endpoint] = co_await asio::async_connect(socket, addresses, kAwait);
    if (late) co_return too_late(to, "connection");
    if (error) {
      co_return fail(ErrorCode::kUnavailable,
                     fmt::format("connect to {}: {}", to_string(to), error.message()));
    }
    limit.clear();
    if (!to.tls) co_return make_tcp_stream(std::move(socket));
    co_return co_await tls_->greet(std::move(socket), to, clock_, deadline);
  }

 private:
  // A look-up cannot be cut short, so the wait for it is: the answer that comes later is dropped.
  Task<Result<tcp::resolver::results_type>> resolve(const Origin& to, MonoTime deadline) {
    using Answer = Result<tcp::resolver::results_type>;
    OneShot<std::optional<Answer>> done;
    auto executor = co_await asio::this_coro::executor;
    auto resolver = std::make_shared<tcp::resolver>(executor);
    auto found = [done, resolver, name = to_string(to)](
                     const boost::system::error_code& error,
                     const tcp::resolver::results_type& results) mutable {
      if (!error) {
        done.set(Answer(results));
        return;
      }
      done.set(Answer(fail(ErrorCode::kUnavailable,
                           fmt::format("look up the host of {}: {}", name, error.message()))));
    };
    resolver->async_resolve(to.host, std::to_string(to.port), std::move(found));
    auto timer = clock_.call_at(deadline, executor, [done]() mutable { done.set(std::nullopt); });
    std::optional<Answer> answer = co_await done.wait();
    timer->cancel();
    if (!answer) co_return too_late(to, "answer of the name server");
    co_return *std::move(answer);
  }

  Clock& clock_;
  std::shared_ptr<TlsClientContext> tls_;
};

}  // namespace

Result<std::unique_ptr<Connector>> make_system_connector(Clock& clock, const std::string& ca_file) {
  WEIR_TRY(std::shared_ptr<TlsClientContext> tls, TlsClientContext::make(ca_file));
  return std::make_unique<SystemConnector>(clock, std::move(tls));
}

}  // namespace weir::net
