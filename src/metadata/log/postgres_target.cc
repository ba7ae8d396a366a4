#include "metadata/log/postgres_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace weir::metadata {
namespace {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

struct FreeMemory {
  void operator()(void* memory) const { PQfreemem(memory); }
};

std::string one_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::string out;
  for (const char c : text) {
    if (c == '\n') out += ';';
    out += c == '\n' || c == '\t' ? ' ' : c;
  }
  return out;
}

// libpq quotes the part of the URL that it could not understand. Where that is the name of a
// parameter, and no '@' behind the '?' tells that the password has one, it holds no password of the
// user's.
bool may_quote_password(std::string_view message, std::string_view url) {
  if (url.contains("password")) return true;
  const bool is_parameter = message.starts_with("invalid URI query parameter");
  if (is_parameter) url = url.substr(std::min(url.find('?'), url.size()));
  return url.contains('@');
}

std::string without_password(std::string_view message, std::string_view url) {
  const auto quote = message.find('"');
  if (quote == std::string_view::npos || !may_quote_password(message, url)) {
    return one_line(message);
  }
  return one_line(message.substr(0, quote)) + "(the text is not shown, as it may hold a password)";
}

// Not before a named service, whose settings they would hide.
bool has_service(const PQconninfoOption* options) {
  for (; options->keyword != nullptr; ++options) {
    if (std::string_view(options->keyword) == "service" && options->val != nullptr) return true;
  }
  return std::getenv("PGSERVICE") != nullptr;
}

// "a,b,c" → "b,c,a"
std::string rotated(const std::string& list) {
  const auto comma = list.find(',');
  if (comma == std::string::npos) return list;
  return list.substr(comma + 1) + ',' + list.substr(0, comma);
}

}  // namespace

Result<PostgresTarget> PostgresTarget::parse(std::string url) {
  char* message = nullptr;
  const Options options(PQconninfoParse(url.c_str(), &message));
  const std::unique_ptr<char, FreeMemory> owned(message);
  if (options) return PostgresTarget(Secret(std::move(url)));
  return fail(ErrorCode::kInvalid,
              fmt::format("not a PostgreSQL URL: {}",
                          without_password(message == nullptr ? "no memory" : message, url)));
}

Result<PgConnection> PostgresTarget::start() const {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  auto add = [&](const char* keyword, const std::string& value) {
    keywords.push_back(keyword);
    values.push_back(value.c_str());
  };
  // What stands before the URL gives way to it, what stands behind takes its place. A dead host is
  // noticed by the kernel, too.
  static const std::string five_seconds_in_ms = "5000";
  static const std::string five = "5";
  static const std::string two = "2";
  static const std::string weir = "weir";
  const Options parsed(PQconninfoParse(url_.reveal().c_str(), nullptr));
  if (parsed && !has_service(parsed.get())) {
    add("tcp_user_timeout", five_seconds_in_ms);
    add("keepalives_idle", five);
    add("keepalives_interval", two);
    add("keepalives_count", two);
  }
  add("fallback_application_name", weir);
  add("dbname", url_.reveal());
  if (!host_.empty()) add("host", host_);
  if (!host_address_.empty()) add("hostaddr", host_address_);
  if (!port_.empty()) add("port", port_);
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  PgConnection connection(PQconnectStartParams(keywords.data(), values.data(), 1));
  if (!connection) return fail(ErrorCode::kExhausted, "postgres: no memory for a connection");
  if (PQstatus(connection.get()) != CONNECTION_BAD) return connection;
  return fail(ErrorCode::kUnavailable, pg_error_text(connection.get()));
}

void PostgresTarget::rotate_hosts(PGconn* connection) {
  host_ = rotated(pg_option(connection, "host"));
  host_address_ = rotated(pg_option(connection, "hostaddr"));
  port_ = rotated(pg_option(connection, "port"));
}

std::string pg_option(PGconn* connection, std::string_view keyword) {
  const Options options(PQconninfo(connection));
  for (const PQconninfoOption* one = options.get(); one != nullptr && one->keyword != nullptr;
       ++one) {
    if (keyword == one->keyword) return one->val == nullptr ? "" : one->val;
  }
  return "";
}

std::string pg_error_text(const PGconn* connection) {
  return fmt::format("postgres: {}", one_line(PQerrorMessage(connection)));
}

}  // namespace weir::metadata
