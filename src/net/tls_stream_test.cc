// TLS with a real server on the loopback address and certificates made here.
#include "net/connector.h"
#include "net/http_client.h"
#include "runtime/temporary_folder.h"
#include "runtime/test_loop.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <thread>

namespace weir::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// A certificate that signs itself, for `names` ("DNS:a,IP:127.0.0.1"), and its key, in one file.
void write_certificate(const std::string& path, const char* names) {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), &X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  for (auto [id, value] :
       {std::pair{NID_basic_constraints, "critical,CA:TRUE"}, {NID_subject_alt_name, names}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
    X509_add_ext(made.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(made.get(), key.get(), EVP_sha256());
  std::FILE* file = std::fopen(path.c_str(), "w");
  PEM_write_X509(file, made.get());
  PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
}

// Answers one request of a connection, with the length of its body; or does not even greet.
class TlsServer {
 public:
  TlsServer(const std::string& certificate, bool silent) : silent_(silent) {
    context_.use_certificate_file(certificate, asio::ssl::context::pem);
    context_.use_private_key_file(certificate, asio::ssl::context::pem);
    thread_ = std::thread([this] { serve(); });
  }
  ~TlsServer() {
    // Closing an acceptor does not wake a thread that is in accept().
    stopping_ = true;
    boost::system::error_code ignored;
    tcp::socket knock(loop_);
    knock.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  std::uint16_t port() { return acceptor_.local_endpoint().port(); }

 private:
  void serve() {
    while (true) {
      tcp::socket socket = acceptor_.accept();
      if (stopping_) return;
      held_.push_back(
          std::make_unique<asio::ssl::stream<tcp::socket>>(std::move(socket), context_));
      if (silent_) continue;
      boost::system::error_code error;
      held_.back()->handshake(asio::ssl::stream_base::server, error);
      if (!error) answer(*held_.back());
      held_.pop_back();
    }
  }

  static void answer(asio::ssl::stream<tcp::socket>& stream) {
    boost::system::error_code error;
    asio::streambuf buffer(1 << 24);
    std::size_t head = asio::read_until(stream, buffer, "\r\n\r\n", error);
    if (error) return;
    std::string text(asio::buffers_begin(buffer.data()),
                     asio::buffers_begin(buffer.data()) + static_cast<std::ptrdiff_t>(head));
    std::size_t at = text.find("Content-Length: ");
    std::size_t length = at == std::string::npos ? 0 : std::stoul(text.substr(at + 16));
    while (buffer.size() < head + length && !error) {
      buffer.commit(stream.read_some(buffer.prepare(65536), error));
    }
    if (!error) reply(stream, length);
  }

  static void reply(asio::ssl::stream<tcp::socket>& stream, std::size_t length) {
    std::string body = std::to_string(length) + std::string(100'000, '.');
    boost::system::error_code error;
    asio::write(stream,
                asio::buffer(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}",
                                         body.size(), body)),
                error);
  }

  bool silent_;
  std::atomic<bool> stopping_ = false;
  asio::io_context loop_;
  tcp::acceptor acceptor_{loop_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  asio::ssl::context context_{asio::ssl::context::tls_server};
  std::vector<std::unique_ptr<asio::ssl::stream<tcp::socket>>> held_;
  std::thread thread_;
};

class TlsTest : public testing::Test {
 protected:
  void serve(const char* names, bool silent = false) {
    certificate_ = folder_.path() / "certificate.pem";
    write_certificate(certificate_, names);
    server_ = std::make_unique<TlsServer>(certificate_, silent);
  }
  Result<HttpAnswer> call(const std::string& host, const std::string& ca, HttpCall call) {
    auto connector = make_system_connector(clock_, ca);
    if (!connector) return std::unexpected(connector.error());
    HttpClient client(**connector, clock_, {true, host, server_->port()});
    return run_task(context_, client.call(std::move(call)));
  }

  asio::io_context context_;
  SystemClock clock_;
  TemporaryFolder folder_;
  std::string certificate_;
  std::unique_ptr<TlsServer> server_;
};

TEST_F(TlsTest, CarriesARequestOfManySlices) {
  serve("DNS:localhost,IP:127.0.0.1");
  HttpCall request{.method = "PUT"};
  for (int i = 0; i < 3000; ++i) request.body.append(Slice::copy_of(std::string(1 + i % 200, 'x')));
  for (const char* host : {"localhost", "127.0.0.1"}) {
    auto answer = call(host, certificate_, request);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_TRUE(
        as_text(answer->body.bytes()).starts_with(std::to_string(request.body.size()) + "...."))
        << host;
  }
}

TEST_F(TlsTest, RefusesServersItHasNoReasonToTrust) {
  serve("DNS:localhost");
  auto unknown = call("localhost", "", {});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(unknown.error().message.find("certificate verify failed"), std::string::npos)
      << unknown.error().message;
  auto other = call("127.0.0.1", certificate_, {});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("certificate verify failed"), std::string::npos)
      << other.error().message;
  EXPECT_TRUE(call("localhost", certificate_, {}));
}

TEST_F(TlsTest, SaysWhichFileIsNoCertificate) {
  serve("DNS:localhost");
  auto absent = call("localhost", "/nowhere.pem", {});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kInvalid);
  EXPECT_NE(absent.error().message.find("/nowhere.pem"), std::string::npos);
}

TEST_F(TlsTest, ASilentServerIsGivenUp) {
  serve("DNS:localhost", true);
  auto late = call("localhost", certificate_, {.time_max = std::chrono::milliseconds(200)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout) << late.error().message;
}

}  // namespace
}  // namespace weir::net
