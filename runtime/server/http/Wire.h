//===- Wire.h - A socket, with TLS or without -----------------------------===//
//
// What Connection needs of a socket. Completions come back as Connection::onRead and its like, on
// the server's thread; each operation in flight holds its connection alive.
//===----------------------------------------------------------------------===//
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <memory>
#include <string_view>

namespace ingot::http {

class Connection;
using boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;

class Wire {
public:
  virtual ~Wire() = default;
  virtual tcp::socket &socket() = 0;
  virtual bool needsHandshake() const { return false; }
  virtual void handshake(std::shared_ptr<Connection> connection) = 0;
  virtual void read(std::shared_ptr<Connection> connection, char *to, size_t most) = 0;
  virtual void write(std::shared_ptr<Connection> connection, std::string_view bytes) = 0;
  /// Writes what goes at once, without a round through the event loop; 0 with no error: write() it.
  virtual size_t writeNow(std::string_view bytes, ErrorCode &ec) = 0;
  /// Says that nothing more comes (FIN, close_notify); reading goes on.
  virtual void endSending(std::shared_ptr<Connection> connection) = 0;
  /// `reset`: throws away what the kernel still holds.
  void close(bool reset);
};

/// `unackedTimeout`: after which the kernel gives up a client that is silently gone.
std::unique_ptr<Wire> makeWire(tcp::socket socket, boost::asio::ssl::context *tls,
                               std::chrono::milliseconds unackedTimeout);

} // namespace ingot::http
