//===- ServerCore.h - State shared by all connections of a server ---------===//
#pragma once

#include "runtime/server/http/Connection.h"
#include "runtime/server/http/HeaderRules.h"
#include "runtime/server/http/Keys.h"
#include "runtime/server/http/Server.h"
#include "runtime/server/http/WrongKeys.h"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace ingot::http {

/// A connection without a request under way may be closed for a new one after this time.
inline constexpr std::chrono::milliseconds kEvictableAfter{1000};
/// For this time a closing connection is still read from, so that no reset overtakes the last
/// response.
inline constexpr std::chrono::milliseconds kLingerTime{2000};
/// Bytes of pipelined input that are kept while a response is under way. Beyond this, nothing is
/// read.
inline constexpr size_t kMostInput = 64 << 10;

/// The state of a server. Only the server's thread uses it, except for atomics and the fields that
/// `idleMutex` guards.
struct ServerCore {
  ServerCore(const ServerOptions &options, Handler handler);
  ~ServerCore();

  /// Declared first, so that operations in flight are destroyed last.
  boost::asio::io_context io{1};
  const ServerOptions options;
  Handler handler;
  KeyRing keys;
  WrongKeys wrongKeys;
  const HostRules hosts;
  const OriginRules origins;
  std::optional<boost::asio::ssl::context> tls;
  tcp::acceptor acceptor{io};
  boost::asio::steady_timer ticker{io}, acceptAgain{io}, mailTimer{io};
  std::chrono::milliseconds tickPeriod;
  bool ticking = false;
  int spareDescriptor = -1; ///< closed briefly when the process has no descriptor left

  std::unordered_map<Connection *, std::shared_ptr<Connection>> connections;
  std::list<Connection *> evictable; ///< the connection that has been in its phase longest is first
  size_t refusing = 0;               ///< connections over the limit that are being refused
  std::shared_ptr<Mailbox> mailbox;

  bool draining = false, stopping = false;
  int drainStatus = 503;
  std::string drainBody;
  size_t bodyBytes = 0; ///< total size of request bodies being read
  uint64_t idSeed[2] = {};
  uint64_t ids = 0;

  std::atomic<uint64_t> accepted{0}, refused{0}, requests{0}, badRequests{0}, droppedSlow{0};
  std::atomic<size_t> connectionCount{0};
  std::mutex idleMutex;
  std::condition_variable idle;
  size_t responses = 0; ///< responses under way

  void accept();
  void onAccepted(ErrorCode ec, tcp::socket socket);
  void outOfDescriptors();
  void acceptLater();
  bool evictOne(Clock::time_point now);
  void remove(Connection *connection);
  void tick();
  std::vector<std::shared_ptr<Connection>> all() const;
  void readMail();
  void readMailSoon();
  void responseBegins();
  void responseEnds();
  std::string newId();
  size_t mostBodyBytes() const { return 32 * options.maxBodyBytes; }
  void closeAll();
};

} // namespace ingot::http
