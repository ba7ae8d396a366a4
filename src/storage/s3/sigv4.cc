#include "storage/s3/sigv4.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace weir::storage::s3 {
namespace {

std::string_view trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

net::HttpHeaders sorted(net::HttpHeaders headers) {
  std::ranges::sort(headers, {}, [](const auto& header) { return header.first; });
  return headers;
}

std::string signed_names(const net::HttpHeaders& headers) {
  std::string names;
  for (const auto& [name, value] : headers) names += (names.empty() ? "" : ";") + name;
  return names;
}

std::string date_of(const SigningScope& scope) { return signing_time(scope.now_ms).substr(0, 8); }

std::string scope_text(const SigningScope& scope) {
  return fmt::format("{}/{}/{}/{}", date_of(scope), scope.region, scope.dialect.service,
                     scope.dialect.terminator);
}

}  // namespace

std::string uri_encode(std::string_view text, bool keep_slashes) {
  std::string out;
  for (char c : text) {
    bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '.' || c == '_' || c == '~' || (c == '/' && keep_slashes);
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string canonical_query(Query query) {
  for (auto& [name, value] : query) {
    name = uri_encode(name, false);
    value = uri_encode(value, false);
  }
  std::ranges::sort(query);
  std::string out;
  for (const auto& [name, value] : query) {
    if (!out.empty()) out += '&';
    out += name + '=' + value;
  }
  return out;
}

std::string signing_time(TimestampMs now_ms) {
  using namespace std::chrono;
  sys_time<milliseconds> now{milliseconds(now_ms)};
  auto day = floor<days>(now);
  year_month_day date(day);
  hh_mm_ss time(floor<seconds>(now - day));
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

std::string canonical_request(const Signable& request) {
  net::HttpHeaders headers = sorted(request.headers);
  std::string out = fmt::format("{}\n{}\n{}\n", request.method, request.path, request.query);
  for (const auto& [name, value] : headers) out += fmt::format("{}:{}\n", name, trim(value));
  return out + fmt::format("\n{}\n{}", signed_names(headers), request.payload_hash);
}

Sha256 signing_key(const Secret& secret_key, const SigningScope& scope) {
  std::string first = std::string(scope.dialect.key_prefix) + secret_key.reveal();
  Sha256 key = hmac_sha256(as_bytes(first), as_bytes(date_of(scope)));
  key = hmac_sha256(key, as_bytes(scope.region));
  key = hmac_sha256(key, as_bytes(scope.dialect.service));
  return hmac_sha256(key, as_bytes(scope.dialect.terminator));
}

std::string authorization(const Signable& request, const Credentials& credentials,
                          const SigningScope& scope) {
  std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", scope.dialect.algorithm, signing_time(scope.now_ms),
                  scope_text(scope), to_hex(sha256(as_bytes(canonical_request(request)))));
  Sha256 signature = hmac_sha256(signing_key(credentials.secret_key, scope), as_bytes(to_sign));
  return fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", scope.dialect.algorithm,
                     credentials.access_key, scope_text(scope),
                     signed_names(sorted(request.headers)), to_hex(signature));
}

}  // namespace weir::storage::s3
