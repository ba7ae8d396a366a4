#include "storage/s3/credential_sources.h"

#include "storage/s3/metadata_sources.h"

#include <fmt/format.h>

#include <array>

namespace weir::storage::s3 {
namespace {

using Found = Result<std::unique_ptr<CredentialSource>>;

std::unexpected<Error> refuse(std::string what) {
  return fail(ErrorCode::kInvalid, std::move(what));
}

// The keys that a profile holds.
Result<Credentials> keys_of(const Profile& profile, std::string_view whose) {
  auto text = [&](std::string_view name) {
    auto at = profile.find(name);
    return at == profile.end() ? std::string() : at->second;
  };
  Credentials keys{.access_key = text("aws_access_key_id"),
                   .secret_key = Secret(text("aws_secret_access_key")),
                   .session_token = Secret(text("aws_session_token"))};
  if (!keys.access_key.empty() && !keys.secret_key.empty()) return keys;
  return refuse(fmt::format(
      "{} must have both aws_access_key_id and aws_secret_access_key, or neither", whose));
}

class ProfileSource final : public CredentialSource {
 public:
  ProfileSource(Environment environment, std::optional<std::string> name)
      : environment_(std::move(environment)), name_(std::move(name)) {}

  Task<Result<Credentials>> fetch() override {
    WEIR_CO_TRY(std::optional<Profile> profile, read_profile(environment_, name_));
    if (!profile) {
      co_return fail(ErrorCode::kUnavailable, "the profile with the keys is not there any more");
    }
    co_return keys_of(*profile, "the profile");
  }

 private:
  Environment environment_;
  std::optional<std::string> name_;
};

Result<net::HttpUrl> token_service(const CredentialSetting& setting) {
  std::string_view domain =
      setting.region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  std::string url = setting.environment("AWS_ENDPOINT_URL_STS")
                        .value_or(fmt::format("https://sts.{}.{}", setting.region, domain));
  auto parsed = net::parse_http_url(url);
  if (!parsed) return refuse(fmt::format("AWS_ENDPOINT_URL_STS '{}' is no URL", url));
  return *parsed;
}

Found make_web_identity(const CredentialSetting& setting, std::string token_file, std::string role,
                        std::optional<std::string> session, net::Connector& connector,
                        Clock& clock) {
  WebIdentity identity{.token_file = std::move(token_file), .role = std::move(role)};
  if (session) identity.session = *session;
  WEIR_TRY(identity.service, token_service(setting));
  return make_web_identity_source(std::move(identity), connector, clock);
}

// Null: the profile says nothing about keys.
Found find_in_profile(const CredentialSetting& setting, net::Connector& connector, Clock& clock) {
  WEIR_TRY(std::optional<Profile> profile, read_profile(setting.environment, setting.profile));
  if (!profile) return nullptr;
  auto has = [&](std::string_view name) { return profile->contains(name); };
  if (has("aws_access_key_id") || has("aws_secret_access_key")) {
    WEIR_CHECK(keys_of(*profile, "the profile"));
    return std::make_unique<ProfileSource>(setting.environment, setting.profile);
  }
  if (has("web_identity_token_file") && has("role_arn")) {
    std::optional<std::string> session;
    if (has("role_session_name")) session = profile->find("role_session_name")->second;
    return make_web_identity(setting, profile->find("web_identity_token_file")->second,
                             profile->find("role_arn")->second, session, connector, clock);
  }
  for (const char* name : {"sso_session", "sso_start_url", "credential_process", "source_profile",
                           "credential_source", "role_arn"}) {
    if (!has(name)) continue;
    return refuse(fmt::format(
        "the profile gets its keys by '{}', which is not supported; it may have aws_access_key_id "
        "and aws_secret_access_key, or web_identity_token_file and role_arn",
        name));
  }
  return nullptr;
}

// Keys must not go over the network in the clear: http:// is for the addresses of platforms only.
bool may_be_asked(const net::Origin& origin) {
  constexpr std::array kPlatforms = {"169.254.170.2", "169.254.170.23", "fd00:ec2::23", "localhost",
                                     "::1"};
  return origin.tls || origin.host.starts_with("127.") ||
         std::ranges::find(kPlatforms, origin.host) != kPlatforms.end();
}

Found find_in_container(const CredentialSetting& setting, net::Connector& connector, Clock& clock) {
  std::string url;
  if (auto path = setting.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    url = "http://169.254.170.2" + *path;
  } else if (auto whole = setting.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
    url = *whole;
  } else {
    return nullptr;
  }
  auto parsed = net::parse_http_url(url);
  if (!parsed || !may_be_asked(parsed->origin)) {
    return refuse(fmt::format(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI '{}' must be https, or http to this machine", url));
  }
  ContainerEndpoint endpoint{.url = *parsed};
  endpoint.token_file = setting.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").value_or("");
  endpoint.token = Secret(setting.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or(""));
  return make_container_source(std::move(endpoint), connector, clock);
}

Found find_in_instance(const CredentialSetting& setting, net::Connector& connector, Clock& clock) {
  if (setting.environment("AWS_EC2_METADATA_DISABLED") == "true") {
    return refuse(
        "there are no keys for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
        "or a profile, or a role");
  }
  std::string url =
      setting.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or("http://169.254.169.254");
  auto parsed = net::parse_http_url(url);
  if (!parsed) {
    return refuse(fmt::format("AWS_EC2_METADATA_SERVICE_ENDPOINT '{}' is no URL", url));
  }
  return make_instance_source(parsed->origin, connector, clock);
}

}  // namespace

Found find_credentials(const CredentialSetting& setting, net::Connector& connector, Clock& clock) {
  if (setting.profile) {
    WEIR_TRY(auto source, find_in_profile(setting, connector, clock));
    if (source) return source;
    return refuse(fmt::format("profile '{}' has no keys", *setting.profile));
  }
  auto access = setting.environment("AWS_ACCESS_KEY_ID");
  auto secret = setting.environment("AWS_SECRET_ACCESS_KEY");
  if (access && secret) {
    return make_static_source(
        {.access_key = *access,
         .secret_key = Secret(*secret),
         .session_token = Secret(setting.environment("AWS_SESSION_TOKEN").value_or(""))});
  }
  if (access || secret) {
    return refuse("set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither");
  }
  auto token_file = setting.environment("AWS_WEB_IDENTITY_TOKEN_FILE");
  auto role = setting.environment("AWS_ROLE_ARN");
  if (token_file && role) {
    return make_web_identity(setting, *token_file, *role,
                             setting.environment("AWS_ROLE_SESSION_NAME"), connector, clock);
  }
  for (auto* find : {&find_in_profile, &find_in_container, &find_in_instance}) {
    WEIR_TRY(auto source, find(setting, connector, clock));
    if (source) return source;
  }
  return nullptr;
}

}  // namespace weir::storage::s3
