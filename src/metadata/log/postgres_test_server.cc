#include "metadata/log/postgres_test_server.h"

#include "metadata/log/postgres_target.h"
#include "runtime/test_loop.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace weir::metadata {
namespace {

namespace fs = std::filesystem;

// The greatest version; empty: none.
fs::path find_programs() {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    if (fs::exists(entry.path() / "bin" / "postgres")) found.push_back(entry.path() / "bin");
  }
  std::sort(found.begin(), found.end());
  return found.empty() ? fs::path() : found.back();
}

// Looked for once, before there are other threads: TSan does not see a folder being opened, only
// closed, and takes its descriptor for one that a connection closed before.
const fs::path& programs() {
  static const fs::path found = find_programs();
  return found;
}

// Not root: PostgreSQL refuses it.
const passwd* other_user() {
  if (::geteuid() != 0) return nullptr;
  const passwd* user = ::getpwnam("postgres");
  return user != nullptr ? user : ::getpwnam("nobody");
}

// Starts a program with its output in a file.
pid_t spawn(const std::vector<std::string>& arguments, const fs::path& output) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const passwd* user = other_user();
  const int file = ::open(output.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
  const pid_t child = ::fork();
  if (child != 0) {
    ::close(file);
    return child;
  }
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  const bool good = user == nullptr || (::setgid(user->pw_gid) == 0 && ::setuid(user->pw_uid) == 0);
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (good) ::execv(argv[0], argv.data());
  ::_exit(127);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<pid_t> children(pid_t parent) {
  const auto name = fmt::format("/proc/{}/task/{}/children", parent, parent);
  std::ifstream file(name);
  return {std::istream_iterator<pid_t>(file), {}};
}

}  // namespace

bool PostgresTestServer::available() { return !programs().empty(); }

PostgresTestServer& PostgresTestServer::shared() {
  static PostgresTestServer server;
  if (server.server_ < 0) server.start();
  return server;
}

PostgresTestServer::PostgresTestServer() {
  fs::create_directory(data());
  fs::create_directory(socket_folder());
  if (const passwd* user = other_user()) {
    for (const fs::path& path : {folder_.path(), data(), socket_folder()}) {
      if (::chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) {
        throw std::runtime_error("cannot give " + path.string() + " away");
      }
    }
  }
  const fs::path log = folder_.path() / "initdb.log";
  const pid_t child = spawn({programs() / "initdb", "-D", data(), "-U", "weir", "-A", "trust", "-E",
                             "UTF8", "--locale=C", "--no-sync", "--no-instructions"},
                            log);
  if (wait_for(child) != 0) throw std::runtime_error("initdb: " + text_of(log));
}

PostgresTestServer::~PostgresTestServer() {
  resume();
  crash();
}

void PostgresTestServer::start(const std::vector<std::string>& settings) {
  std::vector<std::string> arguments = {
      programs() / "postgres", "-D", data(), "-k", socket_folder(), "-c", "listen_addresses="};
  for (const std::string& setting : settings) {
    arguments.emplace_back("-c");
    arguments.push_back(setting);
  }
  const fs::path log = folder_.path() / "server.log";
  server_ = spawn(arguments, log);
  constexpr int kTries = 1200;
  SystemClock clock;
  for (int i = 0; i < kTries; ++i) {
    if (PQping(base_url().c_str()) == PQPING_OK) return;
    run_task(clock.sleep(std::chrono::milliseconds(50)));
  }
  throw std::runtime_error("postgres does not answer: " + text_of(log));
}

void PostgresTestServer::crash() {
  if (server_ < 0) return;
  ::kill(server_, SIGQUIT);
  wait_for(std::exchange(server_, -1));
}

void PostgresTestServer::signal_all(int signal) const {
  if (server_ < 0) return;
  ::kill(server_, signal);
  for (const pid_t child : children(server_)) ::kill(child, signal);
}

std::string PostgresTestServer::base_url() const {
  return fmt::format("postgres://weir@/postgres?host={}", socket_folder().string());
}

std::string PostgresTestServer::execute(const std::string& sql) {
  const PgConnection connection(PQconnectdb(base_url().c_str()));
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  const std::unique_ptr<PGresult, Clear> result(PQexec(connection.get(), sql.c_str()));
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    throw std::runtime_error(sql + ": " + PQerrorMessage(connection.get()));
  }
  return PQntuples(result.get()) == 0 ? "" : PQgetvalue(result.get(), 0, 0);
}

std::string PostgresTestServer::fresh_url() {
  const std::string schema = fmt::format("s{}", ++schemas_);
  execute("CREATE SCHEMA " + schema);
  return fmt::format("{}&options=-csearch_path%3D{}", base_url(), schema);
}

std::string PostgresTestServer::url_at(const std::string& url, const fs::path& socket_folder) {
  const auto from = url.find("?host=") + 6;
  return url.substr(0, from) + socket_folder.string() + url.substr(url.find('&', from));
}

}  // namespace weir::metadata
