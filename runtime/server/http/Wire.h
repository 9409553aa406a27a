//===- Wire.h - A socket, with TLS or without -----------------------------===//
//
// Provides the socket operations that Connection needs. Completions call Connection::onRead and
// similar functions on the server's thread. Each operation in flight keeps its connection alive.
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
  /// Writes as many bytes as possible at once, without the event loop. Returns 0 and no error if the
  /// caller must use write() instead.
  virtual size_t writeNow(std::string_view bytes, ErrorCode &ec) = 0;
  /// Closes the sending side (FIN, close_notify). Reading goes on.
  virtual void endSending(std::shared_ptr<Connection> connection) = 0;
  /// `reset`: discards data that the kernel still holds.
  void close(bool reset);
};

/// `unackedTimeout`: the time after which the kernel drops a client that vanished silently.
std::unique_ptr<Wire> makeWire(tcp::socket socket, boost::asio::ssl::context *tls,
                               std::chrono::milliseconds unackedTimeout);

} // namespace ingot::http
