// Where keys come from, with fake services, and when they are fetched anew.
#include "net/fake_http.h"
#include "runtime/temporary_folder.h"
#include "runtime/test_loop.h"
#include "storage/s3/credential_sources.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

namespace weir::storage::s3 {
namespace {

using net::FakeReply;
using net::FakeRequest;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Profiles, AreReadAsAmazonsToolsWriteThem) {
  Profiles config = parse_profiles(
      "# a comment\n[default]\nregion = eu-west-1\r\n\n[profile build]\nrole_arn=arn:x\ns3 =\n"
      "  addressing_style = path\nno setting\n[sso-session s]\nregion=x\n[profile  spaced ]\na=b=c",
      true);
  EXPECT_EQ(config, (Profiles{{"default", {{"region", "eu-west-1"}}},
                              {"build", {{"role_arn", "arn:x"}, {"s3", ""}}},
                              {"spaced", {{"a", "b=c"}}}}));
  EXPECT_EQ(parse_profiles("[build]\naws_access_key_id = AK", false),
            (Profiles{{"build", {{"aws_access_key_id", "AK"}}}}));
  EXPECT_TRUE(parse_profiles("[", true).empty());
}

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() { environment_["HOME"] = folder_.path(); }

  void write(const std::string& name, const std::string& text) {
    std::filesystem::path path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  Environment environment() {
    return [this](const char* name) -> std::optional<std::string> {
      auto at = environment_.find(name);
      if (at == environment_.end()) return std::nullopt;
      return at->second;
    };
  }
  Result<std::unique_ptr<CredentialSource>> find() {
    return find_credentials({environment(), profile_, "eu-west-1"}, http_, clock_);
  }
  Result<Credentials> fetch(CredentialSource& source) {
    return run_in_time(context_, clock_, source.fetch(), std::chrono::milliseconds(100));
  }
  // "AK/SK/TOKEN" of what is found, or the error.
  std::string keys() {
    auto source = find();
    if (!source) return source.error().to_string();
    auto got = fetch(**source);
    if (!got) return got.error().to_string();
    return fmt::format("{}/{}/{}", got->access_key, got->secret_key.reveal(),
                       got->session_token.reveal());
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  TemporaryFolder folder_;
  std::map<std::string, std::string> environment_;
  std::optional<std::string> profile_;
  net::FakeHttp http_{clock_, [](const FakeRequest&) { return FakeReply{.status = 404}; }};
};

TEST_F(CredentialsTest, TheOrderOfSources) {
  write(".aws/credentials",
        "[default]\naws_access_key_id=AKD\naws_secret_access_key=SKD\n[p]\naws_access_key_id=AKP\n"
        "aws_secret_access_key=SKP\naws_session_token=TP\n");
  EXPECT_EQ(keys(), "AKD/SKD/");
  environment_["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/never";
  environment_["AWS_PROFILE"] = "p";
  EXPECT_EQ(keys(), "AKP/SKP/TP");
  environment_["AWS_ACCESS_KEY_ID"] = "AKE";
  EXPECT_NE(keys().find("both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), std::string::npos);
  environment_["AWS_SECRET_ACCESS_KEY"] = "SKE";
  environment_["AWS_SESSION_TOKEN"] = "TE";
  EXPECT_EQ(keys(), "AKE/SKE/TE");
  profile_ = "p";
  EXPECT_EQ(keys(), "AKP/SKP/TP");
  EXPECT_TRUE(http_.seen().empty());
}

TEST_F(CredentialsTest, ProfilesAreReadAgainAndWhatTheyLackIsNamed) {
  write("keys", "[p]\naws_access_key_id=AK1\naws_secret_access_key=SK1\n");
  write("config",
        "[profile p]\naws_access_key_id=never\nregion=eu-north-1\n[profile half]\n"
        "aws_access_key_id=AK\n[profile sso]\nsso_session=s\n[profile none]\nx=y\n");
  environment_["AWS_SHARED_CREDENTIALS_FILE"] = folder_.path() / "keys";
  environment_["AWS_CONFIG_FILE"] = folder_.path() / "config";
  profile_ = "p";
  auto source = find();
  ASSERT_TRUE(source);
  EXPECT_EQ(fetch(**source)->access_key, "AK1");
  write("keys", "[p]\naws_access_key_id=AK2\naws_secret_access_key=SK2\n");
  EXPECT_EQ(fetch(**source)->access_key, "AK2");
  EXPECT_EQ(*find_region(environment(), profile_), "eu-north-1");
  environment_["AWS_REGION"] = "us-west-2";
  EXPECT_EQ(*find_region(environment(), profile_), "us-west-2");
  profile_ = "half";
  EXPECT_NE(keys().find("both aws_access_key_id"), std::string::npos) << keys();
  profile_ = "sso";
  EXPECT_NE(keys().find("'sso_session', which is not supported"), std::string::npos) << keys();
  profile_ = "none";
  EXPECT_NE(keys().find("'none' has no keys"), std::string::npos) << keys();
  profile_ = "absent";
  EXPECT_NE(keys().find("no profile 'absent'"), std::string::npos) << keys();
}

constexpr const char* kStsAnswer =
    "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
    "<AssumeRoleWithWebIdentityResult><Credentials><SessionToken>TW</SessionToken>"
    "<SecretAccessKey>SKW</SecretAccessKey><Expiration>2023-11-15T00:00:00Z</Expiration>"
    "<AccessKeyId>AKW</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>"
    "</AssumeRoleWithWebIdentityResponse>";

TEST_F(CredentialsTest, AWebIdentityIsTradedForKeys) {
  write("token", "jwt.a+b\n");
  environment_["AWS_WEB_IDENTITY_TOKEN_FILE"] = folder_.path() / "token";
  environment_["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/r";
  http_.set_handler([](const FakeRequest&) { return FakeReply{.body = kStsAnswer}; });
  auto source = find();
  ASSERT_TRUE(source);
  auto got = fetch(**source);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->access_key + got->secret_key.reveal() + got->session_token.reveal(), "AKWSKWTW");
  EXPECT_EQ(got->expires_ms, 1'700'006'400'000);
  const FakeRequest& sent = http_.seen().at(0);
  EXPECT_EQ(sent.origin, (net::Origin{true, "sts.eu-west-1.amazonaws.com", 443}));
  EXPECT_EQ(sent.method, "POST");
  EXPECT_EQ(sent.body,
            "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&"
            "RoleSessionName=weir&Version=2011-06-15&WebIdentityToken=jwt.a%2Bb");
  // The platform renews the file; the service refuses in its own words.
  write("token", "newer");
  http_.set_handler([](const FakeRequest&) {
    return FakeReply{.status = 403, .body = "<ErrorResponse>InvalidIdentityToken</ErrorResponse>"};
  });
  auto refused = fetch(**source);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message.find("InvalidIdentityToken"), std::string::npos);
  EXPECT_TRUE(http_.seen().back().body.ends_with("WebIdentityToken=newer"));
  EXPECT_EQ(refused.error().message.find("newer"), std::string::npos);
}

std::string json_keys(const std::string& expires = "2023-11-14T23:13:20Z") {
  return R"({"Code": "Success", "AccessKeyId": "AKM", "SecretAccessKey": "SKM", "Token": "TM",)"
         R"("Expiration": ")" +
         expires + "\"}";
}

TEST_F(CredentialsTest, AContainerAsksItsPlatform) {
  http_.set_handler([](const FakeRequest&) { return FakeReply{.body = json_keys()}; });
  environment_["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/credentials/id";
  EXPECT_EQ(keys(), "AKM/SKM/TM");
  EXPECT_EQ(http_.seen()[0].origin.host, "169.254.170.2");
  EXPECT_EQ(http_.seen()[0].target, "/v2/credentials/id");
  environment_.erase("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  environment_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://169.254.170.23/v1/credentials";
  write("token", "let me in\n");
  environment_["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = folder_.path() / "token";
  EXPECT_EQ(keys(), "AKM/SKM/TM");
  EXPECT_EQ(http_.seen().back().header("authorization"), "let me in");
  environment_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://evil.example/";
  EXPECT_NE(keys().find("must be https"), std::string::npos);
  environment_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:80/x";
  for (const char* bad : {"", "[]", "{}", "{\"AccessKeyId\": 7}", "{\"Code\": \"Failed\"}"}) {
    http_.set_handler([bad](const FakeRequest&) { return FakeReply{.body = bad}; });
    EXPECT_NE(keys().find("unavailable: container metadata"), std::string::npos) << bad;
  }
}

TEST_F(CredentialsTest, AnInstanceIsAskedInTheSecondVersionOnly) {
  http_.set_handler([](const FakeRequest& request) -> FakeReply {
    if (request.method == "PUT" && request.target == "/latest/api/token") {
      bool asked = !request.header("x-aws-ec2-metadata-token-ttl-seconds").empty();
      return {.status = asked ? 200 : 400, .body = "session"};
    }
    if (request.header("x-aws-ec2-metadata-token") != "session") return {.status = 401};
    if (request.target.ends_with("/security-credentials/")) return {.body = "my role"};
    bool is_role = request.target.ends_with("/security-credentials/my%20role");
    return is_role ? FakeReply{.body = json_keys()} : FakeReply{.status = 404};
  });
  EXPECT_EQ(keys(), "AKM/SKM/TM");
  EXPECT_EQ(http_.seen()[0].origin, (net::Origin{false, "169.254.169.254", 80}));
  EXPECT_EQ(http_.seen().size(), 3U);
  http_.set_reach(net::FakeHttp::Reach::kSilent);
  EXPECT_NE(keys().find("no keys in the environment"), std::string::npos) << keys();
  environment_["AWS_EC2_METADATA_DISABLED"] = "true";
  EXPECT_NE(keys().find("set AWS_ACCESS_KEY_ID"), std::string::npos);
}

// Keys that are valid for an hour; counts, fails and dawdles.
class TestSource final : public CredentialSource {
 public:
  explicit TestSource(Clock& clock) : clock_(clock) {}
  Task<Result<Credentials>> fetch() override {
    ++fetched;
    co_await clock_.sleep(seconds(1));
    if (failing) co_return fail(ErrorCode::kUnavailable, "source is down");
    co_return Credentials{.access_key = fmt::format("AK{}", fetched),
                          .secret_key = Secret("SK"),
                          .expires_ms = clock_.wall_ms() + 3'600'000};
  }
  int fetched = 0;
  bool failing = false;

 private:
  Clock& clock_;
};

class CredentialCacheTest : public testing::Test {
 protected:
  CredentialCacheTest() {
    auto source = std::make_unique<TestSource>(clock_);
    source_ = source.get();
    cache_ = std::make_unique<CredentialCache>(std::move(source), clock_);
  }
  std::string key() {
    auto got = run_in_time(context_, clock_, cache_->get());
    return got ? (*got)->access_key : got.error().to_string();
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  TestSource* source_ = nullptr;
  std::unique_ptr<CredentialCache> cache_;
};

TEST_F(CredentialCacheTest, ManyCallsFetchOnce) {
  std::vector<std::string> got;
  for (int i = 0; i < 5; ++i) {
    boost::asio::co_spawn(
        context_, cache_->get(),
        [&](const std::exception_ptr&, const Result<CredentialCache::Handle>& one) {
          got.push_back((*one)->access_key);
        });
  }
  EXPECT_EQ(key(), "AK1");
  context_.restart();
  context_.poll();
  EXPECT_EQ(got, std::vector<std::string>(5, "AK1"));
  EXPECT_EQ(source_->fetched, 1);
}

TEST_F(CredentialCacheTest, KeysAreRenewedBeforeTheyExpire) {
  EXPECT_EQ(key(), "AK1");
  clock_.advance(minutes(54));
  EXPECT_EQ(key(), "AK1");
  clock_.advance(minutes(1));
  // One call fetches; others meanwhile use the old keys, which are still good.
  std::string renewed;
  boost::asio::co_spawn(context_, cache_->get(),
                        [&](const std::exception_ptr&, const Result<CredentialCache::Handle>& one) {
                          renewed = (*one)->access_key;
                        });
  context_.restart();
  context_.poll();
  EXPECT_EQ(source_->fetched, 2);
  EXPECT_EQ(key(), "AK1");
  clock_.advance(seconds(1));
  context_.restart();
  context_.poll();
  EXPECT_EQ(renewed, "AK2");
  EXPECT_EQ(key(), "AK2");
  EXPECT_EQ(source_->fetched, 2);
}

TEST_F(CredentialCacheTest, AFailedRenewalIsBorneWhileTheKeysAreGood) {
  EXPECT_EQ(key(), "AK1");
  source_->failing = true;
  clock_.advance(minutes(56));
  EXPECT_EQ(key(), "AK1");
  EXPECT_EQ(key(), "AK1");
  EXPECT_EQ(source_->fetched, 2);  // not at every call
  clock_.advance(seconds(31));
  EXPECT_EQ(key(), "AK1");
  EXPECT_EQ(source_->fetched, 3);
  clock_.advance(minutes(4));
  EXPECT_EQ(key(), "unavailable: credentials of the object store: source is down");
  source_->failing = false;
  EXPECT_EQ(key(), "AK5");
}

TEST_F(CredentialCacheTest, RefusedKeysAreNotGivenOutAgain) {
  auto first = run_in_time(context_, clock_, cache_->get());
  cache_->reject(*first);
  EXPECT_EQ(key(), "AK2");
  cache_->reject(*first);  // somebody else noticed later
  EXPECT_EQ(key(), "AK2");
  EXPECT_EQ(source_->fetched, 2);
}

}  // namespace
}  // namespace weir::storage::s3
