// Tests the server over TLS, with a certificate generated here.

#include "TestServer.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace ingot::http;
using namespace std::chrono_literals;

namespace {

/// A folder with cert.pem and key.pem, removed on destruction.
class Certificate {
public:
  Certificate() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ingot-tls-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x509 = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -60);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, key);
    X509_NAME *name = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char *>("localhost"), -1, -1, 0);
    X509_set_issuer_name(x509, name);
    X509_sign(x509, key, EVP_sha256());
    FILE *file = std::fopen(cert().c_str(), "w");
    PEM_write_X509(file, x509);
    std::fclose(file);
    file = std::fopen(this->key().c_str(), "w");
    PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    X509_free(x509);
    EVP_PKEY_free(key);
  }
  ~Certificate() { std::filesystem::remove_all(folder); }
  std::string cert() const { return folder + "/cert.pem"; }
  std::string key() const { return folder + "/key.pem"; }
  ServerOptions options() const {
    ServerOptions options;
    options.tlsCertificate = cert();
    options.tlsKey = key();
    return options;
  }

private:
  std::string folder;
};

class TlsClient {
public:
  explicit TlsClient(const TestServer &test, int version = TLS1_3_VERSION) : socket(test.client()) {
    context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_security_level(context, 0); // allows trying old versions
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    ssl = SSL_new(context);
    SSL_set_fd(ssl, socket.descriptor());
    timeval limit{15, 0};
    ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    shakenHands = SSL_connect(ssl) == 1;
  }
  ~TlsClient() {
    SSL_free(ssl);
    SSL_CTX_free(context);
  }
  void send(const std::string &text) { SSL_write(ssl, text.data(), static_cast<int>(text.size())); }
  Answer answer() {
    bool ended = false;
    for (;;) {
      if (auto found = takeAnswer(received, false, ended))
        return *found;
      if (ended)
        return {};
      char bytes[16384];
      const int n = SSL_read(ssl, bytes, sizeof bytes);
      ended = n <= 0;
      if (n > 0)
        received.append(bytes, static_cast<size_t>(n));
    }
  }
  /// Returns whether the server ended with close_notify, not by cutting the connection.
  bool sawCleanEnd() {
    char byte;
    const int n = SSL_read(ssl, &byte, 1);
    return n <= 0 && SSL_get_error(ssl, n) == SSL_ERROR_ZERO_RETURN;
  }

  SSL *handle() { return ssl; }

  bool shakenHands = false;
  RawClient socket;

private:
  SSL_CTX *context;
  SSL *ssl;
  std::string received;
};

} // namespace

TEST(HttpTls, ServesWhatPlainTextServes) {
  Certificate certificate;
  TestServer test(certificate.options());
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(test, version);
    ASSERT_TRUE(client.shakenHands);
    client.send(get("/tokens?50"));
    EXPECT_EQ(client.answer().body, tokens(50));
    const std::string large(3 << 20, 'l');
    client.send(post("/echo", large));
    EXPECT_TRUE(client.answer().body.ends_with("\n" + large));
    client.send(get("/health", "Connection: close\r\n"));
    EXPECT_EQ(client.answer().body, "ok");
    EXPECT_TRUE(client.sawCleanEnd());
  }
}

TEST(HttpTls, NoticesWhoLeaves) {
  Certificate certificate;
  TestServer test(certificate.options(), 1ms);
  for (bool reset : {false, true}) {
    TlsClient held(test), streaming(test);
    held.send(get("/hold"));
    streaming.send(get("/tokens?1000000"));
    ASSERT_TRUE(soon([&] { return test.held() == 1 && test.streams() == 1; }));
    const int before = test.gone;
    held.socket.close(reset);
    streaming.socket.close(reset);
    EXPECT_TRUE(soon([&] { return test.gone == before + 2 && test.streams() == 0; }));
    test.release();
  }
  ServerOptions options = certificate.options();
  options.sendTimeout = 300ms;
  TestServer slow(options);
  TlsClient stuck(slow);
  stuck.send(get("/flood"));
  EXPECT_TRUE(soon([&] { return slow.server->stats().droppedSlow == 1 && slow.gone == 1; }));
}

TEST(HttpTls, RefusesWhatIsNotTls) {
  Certificate certificate;
  ServerOptions options = certificate.options();
  options.headerTimeout = 800ms;
  TestServer test(options);
  RawClient plain = test.client();
  Answer answer = plain.ask(get("/health"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("this port speaks HTTPS"), std::string::npos);
  EXPECT_TRUE(plain.sawEnd());
  RawClient garbage = test.client(), silent = test.client();
  garbage.send("\x16\x03\x01\x02\x03garbage that is no ClientHello at all, and long enough to be "
               "read as one");
  EXPECT_TRUE(garbage.sawEnd());
  EXPECT_TRUE(silent.sawEnd()) << "a handshake has the time of a header";
  EXPECT_FALSE(TlsClient(test, TLS1_1_VERSION).shakenHands);
  TlsClient good(test);
  good.send(post("/echo", std::string(9 << 20, 'x').substr(0, 10)));
  EXPECT_EQ(good.answer().status, 200);
}

/// A renewed certificate is presented to new connections. An invalid one changes nothing.
TEST(HttpTls, TakesACertificateThatWasRenewed) {
  Certificate certificate, other;
  TestServer test(certificate.options());
  TlsClient before(test);
  auto shown = [](TlsClient &client) {
    X509 *x509 = SSL_get1_peer_certificate(client.handle());
    unsigned char digest[32];
    unsigned size = 0;
    X509_digest(x509, EVP_sha256(), digest, &size);
    X509_free(x509);
    return std::string(reinterpret_cast<char *>(digest), size);
  };
  const std::string first = shown(before);
  std::filesystem::rename(other.cert(), certificate.cert());
  auto half = test.server->renew({});
  ASSERT_FALSE(half) << "the key is another's";
  EXPECT_EQ(half.error().code, "E0552");
  std::filesystem::rename(other.key(), certificate.key());
  ASSERT_TRUE(test.server->renew({}));
  EXPECT_TRUE(soon([&] {
    TlsClient now(test);
    return now.shakenHands && shown(now) != first;
  }));
  before.send(get("/health"));
  EXPECT_EQ(before.answer().body, "ok");
}

TEST(HttpTls, SaysWhatIsWrongWithItsFiles) {
  Certificate certificate, other;
  auto code = [](ServerOptions options) {
    options.port = 0;
    auto made = Server::create(options, [](HttpRequest, std::shared_ptr<Responder>) {});
    return made ? std::string("listens") : made.error().code + " " + made.error().why;
  };
  ServerOptions options = certificate.options();
  EXPECT_EQ(code(options), "listens");
  options.tlsKey = other.key();
  EXPECT_TRUE(code(options).starts_with("E0552")) << code(options);
  options.tlsKey = "";
  EXPECT_EQ(code(options), "E0552 there is a certificate but no key");
  options.tlsKey = certificate.cert();
  EXPECT_TRUE(code(options).starts_with("E0552")) << code(options);
  options.tlsCertificate = certificate.key() + ".not-there";
  EXPECT_TRUE(code(options).starts_with("E0552")) << code(options);
}
