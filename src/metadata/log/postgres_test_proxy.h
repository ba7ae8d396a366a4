// For tests: stands between a log and a PostgresTestServer's socket, and cuts a connection when a
// certain text passes. Own thread; any thread may call.
#pragma once
#include "runtime/temporary_folder.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace weir::metadata {

class PostgresTestProxy {
 public:
  explicit PostgresTestProxy(const std::filesystem::path& server_folder);
  ~PostgresTestProxy();
  PostgresTestProxy(const PostgresTestProxy&) = delete;
  PostgresTestProxy& operator=(const PostgresTestProxy&) = delete;

  [[nodiscard]] std::filesystem::path socket_folder() const { return folder_.path(); }
  enum class Cut {
    kBefore,  // the server never gets what holds the text
    kAfter,   // the server answers, the client never gets the answer
  };
  // Once, when `text` comes from a client.
  void cut_at(std::string text, Cut cut);
  [[nodiscard]] int cuts() const;

 private:
  struct Link;
  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> to_server(std::shared_ptr<Link> link);
  static boost::asio::awaitable<void> to_client(std::shared_ptr<Link> link);
  // Whether to cut now, and how.
  bool matches(std::string_view bytes, Cut& cut);

  TemporaryFolder folder_;
  std::filesystem::path server_socket_;
  boost::asio::io_context loop_;
  boost::asio::local::stream_protocol::acceptor acceptor_;
  mutable std::mutex mutex_;
  std::string text_;
  Cut cut_ = Cut::kBefore;
  int cuts_ = 0;
  std::thread thread_;
};

}  // namespace weir::metadata
