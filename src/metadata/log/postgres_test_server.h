// For tests and benchmarks: a PostgreSQL server of their own, in a folder of its own, reached
// through a socket in it. Where it runs as root, the server runs as another user, as it demands.
// Ends with its owner, also when that is killed. One thread.
#pragma once
#include "runtime/temporary_folder.h"

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace weir::metadata {

class PostgresTestServer {
 public:
  // Whether Debian's postgresql is installed.
  [[nodiscard]] static bool available();
  // A running server; the process has one, made at the first call. Tests leave it running.
  static PostgresTestServer& shared();

  PostgresTestServer();
  ~PostgresTestServer();
  PostgresTestServer(const PostgresTestServer&) = delete;
  PostgresTestServer& operator=(const PostgresTestServer&) = delete;

  // With settings such as "fsync=off". Returns when it answers. Throws when it does not.
  void start(const std::vector<std::string>& settings = {});
  // At once, as a crash.
  void crash();
  // All its processes stand still.
  void pause() { signal_all(SIGSTOP); }
  void resume() { signal_all(SIGCONT); }

  // Runs SQL as the owner of everything; the first value of the result.
  std::string execute(const std::string& sql);
  // The URL of an empty schema.
  [[nodiscard]] std::string fresh_url();
  // The same database behind another folder's socket.
  [[nodiscard]] static std::string url_at(const std::string& url,
                                          const std::filesystem::path& socket_folder);
  [[nodiscard]] std::filesystem::path socket_folder() const { return folder_.path() / "run"; }
  [[nodiscard]] std::filesystem::path data() const { return folder_.path() / "data"; }

 private:
  void signal_all(int signal) const;
  [[nodiscard]] std::string base_url() const;

  TemporaryFolder folder_;
  pid_t server_ = -1;
  int schemas_ = 0;
};

}  // namespace weir::metadata
