#include "storage/s3/location.h"

#include "storage/object_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weir::storage::s3 {
namespace {

constexpr std::size_t kMaxPrefix = 400;  // S3's keys have 1024 bytes, ours 512
constexpr std::size_t kMaxConnections = 1000;

std::unexpected<Error> refuse(std::string what) {
  return fail(ErrorCode::kInvalid, "object store URL: " + std::move(what));
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_name_char);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Nothing: a '%' without two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

Status set_endpoint(Location& to, const std::string& value) {
  auto url = net::parse_http_url(value);
  if (!url || url->target != "/") {
    return refuse(fmt::format(
        "endpoint '{}' must be http://HOST[:PORT] or https://HOST[:PORT], without a path", value));
  }
  to.endpoint = url->origin;
  return {};
}

Status set_connections(Location& to, const std::string& value) {
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), to.connections);
  bool is_number = error == std::errc() && end == value.data() + value.size();
  if (is_number && to.connections >= 1 && to.connections <= kMaxConnections) return {};
  return refuse(
      fmt::format("connections '{}' must be a number from 1 to {}", value, kMaxConnections));
}

Status set_parameter(Location& to, std::string_view name, const std::string& value) {
  if (value.empty()) return refuse(fmt::format("{} has no value", name));
  if (name == "region") {
    if (!is_name(value)) return refuse(fmt::format("region '{}' is no name of a region", value));
    to.region = value;
  } else if (name == "endpoint") {
    return set_endpoint(to, value);
  } else if (name == "path-style") {
    if (value != "true" && value != "false") {
      return refuse(fmt::format("path-style '{}' must be true or false", value));
    }
    to.path_style = value == "true";
  } else if (name == "ca") {
    to.ca_file = value;
  } else if (name == "profile") {
    to.profile = value;
  } else if (name == "dialect") {
    to.dialect = find_dialect(value);
    if (to.dialect == nullptr) return refuse(fmt::format("dialect '{}' must be s3 or gcs", value));
  } else if (name == "connections") {
    return set_connections(to, value);
  } else {
    return refuse(
        fmt::format("there is no parameter '{}'; there are region, endpoint, path-style, ca, "
                    "profile, dialect, connections",
                    name));
  }
  return {};
}

Status set_parameters(Location& to, std::string_view query) {
  while (!query.empty()) {
    std::size_t end = std::min(query.find('&'), query.size());
    std::string_view one = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    std::size_t equals = std::min(one.find('='), one.size());
    auto value = percent_decode(one.substr(std::min(equals + 1, one.size())));
    if (!value) return refuse(fmt::format("'{}' has a '%' without two hexadecimal digits", one));
    WEIR_CHECK(set_parameter(to, one.substr(0, equals), *value));
  }
  return {};
}

Status set_prefix(Location& to, std::string_view prefix) {
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (prefix.empty()) return {};
  Status good = check_key(prefix);
  if (!good) return std::unexpected(good.error().in("object store URL: prefix"));
  if (prefix.size() > kMaxPrefix) {
    return refuse(fmt::format("the prefix has {} bytes, at most {}", prefix.size(), kMaxPrefix));
  }
  to.prefix = std::string(prefix) + "/";
  return {};
}

}  // namespace

Result<Location> parse_location(std::string_view url) {
  if (!url.starts_with(kScheme)) return refuse("it must begin with s3://");
  url.remove_prefix(kScheme.size());
  Location to;
  std::size_t mark = std::min(url.find('?'), url.size());
  std::string_view path = url.substr(0, mark);
  std::size_t slash = std::min(path.find('/'), path.size());
  to.bucket = path.substr(0, slash);
  if (to.bucket.contains('@') || to.bucket.contains(':')) {
    return refuse(
        "it must not have keys in it: give them in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
        "or in a profile");
  }
  if (!is_name(to.bucket)) {
    return refuse(fmt::format("'{}' is no name of a bucket; write s3://BUCKET/PREFIX", to.bucket));
  }
  WEIR_CHECK(set_prefix(to, path.substr(std::min(slash + 1, path.size()))));
  WEIR_CHECK(set_parameters(to, url.substr(std::min(mark + 1, url.size()))));
  return to;
}

std::string Target::describe() const {
  return fmt::format("bucket {} at {}", bucket, net::to_string(origin));
}

Result<Target> resolve(const Location& location, std::optional<std::string> region) {
  const bool own_endpoint = location.endpoint.has_value();
  const Dialect& dialect = location.dialect != nullptr ? *location.dialect
                           : own_endpoint              ? dialect_of_host(location.endpoint->host)
                                                       : kAmazon;
  Target to{.dialect = dialect, .bucket = location.bucket, .prefix = location.prefix};
  if (location.region) region = location.region;
  if (!region && own_endpoint) region = dialect.default_region;
  if (!region) {
    return refuse("no region is known; add ?region=NAME, or set AWS_REGION or the profile's");
  }
  to.region = *region;
  // Certificates for *.HOST do not match a bucket with dots.
  bool path_style = location.path_style.value_or(own_endpoint || location.bucket.contains('.'));
  if (own_endpoint) {
    to.origin = *location.endpoint;
  } else if (&dialect == &kGoogle) {
    to.origin = {.tls = true, .host = "storage.googleapis.com", .port = 443};
  } else {
    std::string_view domain = to.region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    to.origin = {.tls = true, .host = fmt::format("s3.{}.{}", to.region, domain), .port = 443};
  }
  if (path_style) {
    to.bucket_path = "/" + to.bucket;
  } else {
    to.origin.host = to.bucket + "." + to.origin.host;
  }
  return to;
}

}  // namespace weir::storage::s3
