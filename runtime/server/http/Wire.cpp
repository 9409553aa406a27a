//===- Wire.cpp - A socket, with TLS or without ---------------------------===//
#include "runtime/server/http/Wire.h"

#include "runtime/server/http/Connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <optional>
#include <sys/socket.h>

namespace ingot::http {

namespace asio = boost::asio;

/// Bytes of a connection that the kernel may hold unsent; bytes in flight do not count. The limit is
/// high enough to keep a fast line busy, and low enough that a client that stops reading is noticed
/// and costs little memory.
constexpr int kMostUnsentBytes = 128 << 10;

static void setOption(int fd, int level, int name, int value) {
  (void)::setsockopt(fd, level, name, &value, sizeof value); // optional, so errors are ignored
}

static void setOptions(tcp::socket &socket, std::chrono::milliseconds unackedTimeout) {
  const int fd = socket.native_handle();
  setOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  setOption(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, kMostUnsentBytes);
  // If a client's machine or network died, the client sends nothing. Probe silent clients, and close the connection if
  // a client does not answer.
  setOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 15);
  setOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  setOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  setOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(unackedTimeout.count()));
}

void Wire::close(bool reset) {
  ErrorCode ignored;
  if (reset)
    socket().set_option(tcp::socket::linger(true, 0), ignored);
  socket().close(ignored);
}

namespace {

class PlainWire final : public Wire {
public:
  explicit PlainWire(tcp::socket given) : plain(std::move(given)) {
    ErrorCode ignored;
    plain.non_blocking(true, ignored);
  }
  tcp::socket &socket() override { return plain; }
  void handshake(std::shared_ptr<Connection>) override {}
  void read(std::shared_ptr<Connection> connection, char *to, size_t most) override {
    plain.async_read_some(asio::buffer(to, most),
                          [connection](ErrorCode ec, size_t n) { connection->onRead(ec, n); });
  }
  void write(std::shared_ptr<Connection> connection, std::string_view bytes) override {
    plain.async_write_some(asio::buffer(bytes.data(), bytes.size()),
                           [connection](ErrorCode ec, size_t n) { connection->onWritten(ec, n); });
  }
  size_t writeNow(std::string_view bytes, ErrorCode &ec) override {
    const size_t n = plain.write_some(asio::buffer(bytes.data(), bytes.size()), ec);
    if (ec == asio::error::would_block || ec == asio::error::try_again) {
      ec = {};
      return 0;
    }
    return ec ? 0 : n;
  }
  void endSending(std::shared_ptr<Connection>) override {
    ErrorCode ignored;
    plain.shutdown(tcp::socket::shutdown_send, ignored);
  }

private:
  tcp::socket plain;
};

class TlsWire final : public Wire {
public:
  TlsWire(tcp::socket socket, asio::ssl::context &context) : tls(std::move(socket), context) {}
  tcp::socket &socket() override { return tls.next_layer(); }
  bool needsHandshake() const override { return true; }
  void handshake(std::shared_ptr<Connection> connection) override {
    tls.async_handshake(asio::ssl::stream_base::server,
                        [connection](ErrorCode ec) { connection->onHandshake(ec); });
  }
  void read(std::shared_ptr<Connection> connection, char *to, size_t most) override {
    tls.async_read_some(asio::buffer(to, most),
                        [connection](ErrorCode ec, size_t n) { connection->onRead(ec, n); });
  }
  void write(std::shared_ptr<Connection> connection, std::string_view bytes) override {
    tls.async_write_some(asio::buffer(bytes.data(), bytes.size()),
                         [connection](ErrorCode ec, size_t n) { connection->onWritten(ec, n); });
  }
  size_t writeNow(std::string_view, ErrorCode &) override { return 0; }
  void endSending(std::shared_ptr<Connection> connection) override {
    // This also waits for the client's close_notify, at most until the connection's deadline.
    tls.async_shutdown([connection](ErrorCode) {});
  }

private:
  asio::ssl::stream<tcp::socket> tls;
};

} // namespace

std::unique_ptr<Wire> makeWire(tcp::socket socket, asio::ssl::context *tls,
                               std::chrono::milliseconds unackedTimeout) {
  setOptions(socket, unackedTimeout);
  if (tls)
    return std::make_unique<TlsWire>(std::move(socket), *tls);
  return std::make_unique<PlainWire>(std::move(socket));
}

} // namespace ingot::http
