#include "net/connector.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weir::net {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

std::string_view strip(std::string_view text, std::string_view prefix) {
  return text.substr(prefix.size());
}

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_' || c == ':';
}

// "host", "host:port", "[v6]", "[v6]:port".
bool parse_authority(std::string_view text, Origin& origin) {
  std::string_view port;
  if (text.starts_with('[')) {
    std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    origin.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    std::size_t colon = std::min(text.find(':'), text.size());
    origin.host = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (origin.host.empty() || !std::ranges::all_of(origin.host, is_host_char)) return false;
  origin.port = origin.tls ? kHttpsPort : kHttpPort;
  if (port.empty()) return true;
  if (!port.starts_with(':')) return false;
  port.remove_prefix(1);
  auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), origin.port);
  return error == std::errc() && end == port.data() + port.size() && origin.port != 0;
}

}  // namespace

std::string authority(const Origin& origin) {
  std::string host =
      origin.host.contains(':') ? fmt::format("[{}]", origin.host) : std::string(origin.host);
  if (origin.port == (origin.tls ? kHttpsPort : kHttpPort)) return host;
  return fmt::format("{}:{}", host, origin.port);
}

std::string to_string(const Origin& origin) {
  return (origin.tls ? "https://" : "http://") + authority(origin);
}

std::optional<HttpUrl> parse_http_url(std::string_view url) {
  constexpr std::string_view kHttp = "http://";
  constexpr std::string_view kHttps = "https://";
  HttpUrl out;
  out.origin.tls = url.starts_with(kHttps);
  if (!out.origin.tls && !url.starts_with(kHttp)) return std::nullopt;
  url = strip(url, out.origin.tls ? kHttps : kHttp);
  std::size_t slash = std::min(url.find_first_of("/?"), url.size());
  if (!parse_authority(url.substr(0, slash), out.origin)) return std::nullopt;
  out.target = url.substr(slash);
  if (!out.target.starts_with('/')) out.target.insert(0, "/");
  return out;
}

}  // namespace weir::net
