#include "metadata/log/postgres_test_proxy.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>

namespace weir::metadata {
namespace {

namespace asio = boost::asio;
using Protocol = asio::local::stream_protocol;

constexpr std::size_t kBuffer = 1 << 16;

std::string socket_in(const std::filesystem::path& folder) {
  return (folder / ".s.PGSQL.5432").string();
}

// The bytes that came; none: the end.
asio::awaitable<std::string> read_some(Protocol::socket& from) {
  std::string bytes(kBuffer, '\0');
  boost::system::error_code error;
  const std::size_t size = co_await from.async_read_some(
      asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
  bytes.resize(error ? 0 : size);
  co_return bytes;
}

asio::awaitable<bool> write_all(Protocol::socket& to, const std::string& bytes) {
  boost::system::error_code error;
  co_await asio::async_write(to, asio::buffer(bytes),
                             asio::redirect_error(asio::use_awaitable, error));
  co_return !error;
}

}  // namespace

struct PostgresTestProxy::Link {
  explicit Link(Protocol::socket accepted)
      : client(std::move(accepted)), server(client.get_executor()) {}
  void close() {
    boost::system::error_code ignored;
    client.close(ignored);
    server.close(ignored);
  }

  Protocol::socket client;
  Protocol::socket server;
  bool cut_at_answer = false;
};

PostgresTestProxy::PostgresTestProxy(const std::filesystem::path& server_folder)
    : server_socket_(socket_in(server_folder)),
      acceptor_(loop_, Protocol::endpoint(socket_in(folder_.path()))) {
  asio::co_spawn(loop_, accept(), asio::detached);
  thread_ = std::thread([this] { loop_.run(); });
}

PostgresTestProxy::~PostgresTestProxy() {
  loop_.stop();
  thread_.join();
}

void PostgresTestProxy::cut_at(std::string text, Cut cut) {
  std::lock_guard lock(mutex_);
  text_ = std::move(text);
  cut_ = cut;
}

int PostgresTestProxy::cuts() const {
  std::lock_guard lock(mutex_);
  return cuts_;
}

bool PostgresTestProxy::matches(std::string_view bytes, Cut& cut) {
  std::lock_guard lock(mutex_);
  if (text_.empty() || !bytes.contains(text_)) return false;
  text_.clear();
  cut = cut_;
  ++cuts_;
  return true;
}

asio::awaitable<void> PostgresTestProxy::accept() {
  while (true) {
    auto link = std::make_shared<Link>(co_await acceptor_.async_accept(asio::use_awaitable));
    boost::system::error_code error;
    link->server.connect(Protocol::endpoint(server_socket_.string()), error);
    if (error) continue;
    asio::co_spawn(loop_, to_server(link), asio::detached);
    asio::co_spawn(loop_, to_client(link), asio::detached);
  }
}

asio::awaitable<void> PostgresTestProxy::to_server(std::shared_ptr<Link> link) {
  while (true) {
    const std::string bytes = co_await read_some(link->client);
    Cut cut{};
    const bool matched = matches(bytes, cut);
    if (matched && cut == Cut::kAfter) link->cut_at_answer = true;
    if (bytes.empty() || (matched && cut == Cut::kBefore) ||
        !co_await write_all(link->server, bytes)) {
      break;
    }
  }
  link->close();
}

asio::awaitable<void> PostgresTestProxy::to_client(std::shared_ptr<Link> link) {
  while (true) {
    const std::string bytes = co_await read_some(link->server);
    if (bytes.empty() || link->cut_at_answer || !co_await write_all(link->client, bytes)) break;
  }
  link->close();
}

}  // namespace weir::metadata
