#include "storage/s3/metadata_sources.h"

#include "storage/s3/environment.h"
#include "storage/s3/messages.h"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <pugixml.hpp>

#include <algorithm>

namespace weir::storage::s3 {
namespace {

constexpr Duration kCallMax = std::chrono::seconds(5);
constexpr ByteCount kAnswerMax = 64_KiB;
constexpr std::size_t kMaxText = 200;  // of what a service says

Error trouble(std::string_view source, std::string_view what) {
  return {ErrorCode::kUnavailable, fmt::format("{}: {}", source, what)};
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

// One request to a service, and its body when the status is 200.
Task<Result<std::string>> ask(net::HttpClient& http, std::string_view source, net::HttpCall call) {
  call.time_max = kCallMax;
  call.answer_max = kAnswerMax;
  const std::string what = fmt::format("{} {}", call.method, call.target);
  auto answer = co_await http.call(std::move(call));
  if (!answer) co_return std::unexpected(answer.error().in(source));
  std::string body(as_text(answer->body.bytes()));
  if (answer->status == 200) co_return body;
  co_return std::unexpected(trouble(
      source, fmt::format("{} answers {}: {}", what, answer->status, body.substr(0, kMaxText))));
}

std::string text_in(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  const boost::json::string* text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? std::string(*text) : std::string();
}

Result<Credentials> make(std::string_view source, std::string access, std::string secret,
                         std::string token, std::string_view expires) {
  auto expires_ms = parse_iso_time(expires);
  if (access.empty() || secret.empty() || !expires_ms) {
    return std::unexpected(trouble(source, "the answer lacks keys or their expiration"));
  }
  return Credentials{std::move(access), Secret(std::move(secret)), Secret(std::move(token)),
                     *expires_ms};
}

Result<Credentials> parse_json_keys(std::string_view source, const std::string& text) {
  boost::system::error_code bad;
  boost::json::value value = boost::json::parse(text, bad);
  const boost::json::object* object = bad ? nullptr : value.if_object();
  if (object == nullptr) return std::unexpected(trouble(source, "the answer is no JSON object"));
  std::string code = text_in(*object, "Code");
  if (!code.empty() && code != "Success") {
    return std::unexpected(trouble(source, fmt::format("the answer is {}", code)));
  }
  return make(source, text_in(*object, "AccessKeyId"), text_in(*object, "SecretAccessKey"),
              text_in(*object, "Token"), text_in(*object, "Expiration"));
}

class WebIdentitySource final : public CredentialSource {
 public:
  WebIdentitySource(WebIdentity identity, net::Connector& connector, Clock& clock)
      : identity_(std::move(identity)), http_(connector, clock, identity_.service.origin) {}

  Task<Result<Credentials>> fetch() override {
    auto token = read_small_file(identity_.token_file);
    if (!token) co_return std::unexpected(token.error().in(kSource));
    net::HttpCall call{
        .method = "POST",
        .target = identity_.service.target,
        .headers = {{"content-type", "application/x-www-form-urlencoded"}, {"accept", "*/*"}},
        .body = Chain(Slice::copy_of(canonical_query({{"Action", "AssumeRoleWithWebIdentity"},
                                                      {"Version", "2011-06-15"},
                                                      {"RoleArn", identity_.role},
                                                      {"RoleSessionName", identity_.session},
                                                      {"WebIdentityToken", trimmed(*token)}})))};
    WEIR_CO_TRY(std::string body, co_await ask(http_, kSource, std::move(call)));
    pugi::xml_document document;
    document.load_buffer(body.data(), body.size(), pugi::parse_default, pugi::encoding_utf8);
    pugi::xml_node keys = document.child("AssumeRoleWithWebIdentityResponse")
                              .child("AssumeRoleWithWebIdentityResult")
                              .child("Credentials");
    auto text = [&](const char* name) -> std::string { return keys.child(name).text().get(); };
    co_return make(kSource, text("AccessKeyId"), text("SecretAccessKey"), text("SessionToken"),
                   text("Expiration"));
  }

 private:
  static constexpr std::string_view kSource = "web identity";
  const WebIdentity identity_;
  net::HttpClient http_;
};

class ContainerSource final : public CredentialSource {
 public:
  ContainerSource(ContainerEndpoint endpoint, net::Connector& connector, Clock& clock)
      : endpoint_(std::move(endpoint)), http_(connector, clock, endpoint_.url.origin) {}

  Task<Result<Credentials>> fetch() override {
    net::HttpCall call{.target = endpoint_.url.target};
    std::string token = endpoint_.token.reveal();
    if (!endpoint_.token_file.empty()) {
      WEIR_CO_TRY(token, read_small_file(endpoint_.token_file));
    }
    token = trimmed(std::move(token));
    if (token.contains('\n') || token.contains('\r')) {
      co_return std::unexpected(trouble(kSource, "the authorization token has several lines"));
    }
    if (!token.empty()) call.headers.emplace_back("authorization", std::move(token));
    WEIR_CO_TRY(std::string body, co_await ask(http_, kSource, std::move(call)));
    co_return parse_json_keys(kSource, body);
  }

 private:
  static constexpr std::string_view kSource = "container metadata";
  const ContainerEndpoint endpoint_;
  net::HttpClient http_;
};

class InstanceSource final : public CredentialSource {
 public:
  InstanceSource(const net::Origin& service, net::Connector& connector, Clock& clock)
      : http_(connector, clock, service) {}

  Task<Result<Credentials>> fetch() override {
    const std::string roles = "/latest/meta-data/iam/security-credentials/";
    net::HttpCall call{.method = "PUT",
                       .target = "/latest/api/token",
                       .headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "300"}}};
    auto token = co_await ask(http_, kSource, std::move(call));
    if (!token) {
      co_return std::unexpected(
          token.error().in("no keys in the environment, no profile, no container"));
    }
    net::HttpHeaders headers = {{"x-aws-ec2-metadata-token", trimmed(*token)}};
    WEIR_CO_TRY(std::string role,
                co_await ask(http_, kSource, {.target = roles, .headers = headers}));
    role = role.substr(0, role.find('\n'));
    if (role.empty()) co_return std::unexpected(trouble(kSource, "the instance has no role"));
    WEIR_CO_TRY(std::string keys,
                co_await ask(http_, kSource,
                             {.target = roles + uri_encode(role, false), .headers = headers}));
    co_return parse_json_keys(kSource, keys);
  }

 private:
  static constexpr std::string_view kSource = "instance metadata";
  net::HttpClient http_;
};

}  // namespace

std::unique_ptr<CredentialSource> make_web_identity_source(WebIdentity identity,
                                                           net::Connector& connector,
                                                           Clock& clock) {
  return std::make_unique<WebIdentitySource>(std::move(identity), connector, clock);
}

std::unique_ptr<CredentialSource> make_container_source(ContainerEndpoint endpoint,
                                                        net::Connector& connector, Clock& clock) {
  return std::make_unique<ContainerSource>(std::move(endpoint), connector, clock);
}

std::unique_ptr<CredentialSource> make_instance_source(const net::Origin& service,
                                                       net::Connector& connector, Clock& clock) {
  return std::make_unique<InstanceSource>(service, connector, clock);
}

}  // namespace weir::storage::s3
