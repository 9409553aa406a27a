//===- Server.cpp - Listening, accepting, shutting down -------------------===//
#include "runtime/server/http/Server.h"

#include "runtime/server/http/ServerCore.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <optional>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace ingot::http {

namespace asio = boost::asio;

static std::chrono::milliseconds tickFor(const ServerOptions &o) {
  auto least = std::min({o.headerTimeout, o.bodyTimeout, o.sendTimeout, o.idleTimeout,
                         o.pingInterval, std::chrono::milliseconds(1000)});
  return std::max(least / 4, std::chrono::milliseconds(5));
}

static int openSpare() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

ServerCore::ServerCore(const ServerOptions &given, Handler handler)
    : options(given), handler(std::move(handler)), keys(given.apiKeys),
      wrongKeys(given.wrongKeyDelay, given.longestKeyDelay),
      hosts(given.host, given.allowedHosts, !isLoopbackName(given.host) && !given.apiKeys.empty()),
      origins(given.allowedOrigins), tickPeriod(tickFor(given)), spareDescriptor(openSpare()) {
  mailbox = std::make_shared<Mailbox>(
      [this](std::function<void()> work) { asio::post(io, std::move(work)); });
  mailbox->setReader([this] { readMail(); }, [this] { readMailSoon(); });
  if (RAND_bytes(reinterpret_cast<unsigned char *>(idSeed), sizeof idSeed) != 1)
    idSeed[0] = static_cast<uint64_t>(Clock::now().time_since_epoch().count());
}

ServerCore::~ServerCore() {
  mailbox->close();
  if (spareDescriptor >= 0)
    ::close(spareDescriptor);
}

void ServerCore::accept() {
  for (;;)
    try {
      acceptor.async_accept(
          [this](ErrorCode ec, tcp::socket socket) { onAccepted(ec, std::move(socket)); });
      return;
    } catch (...) {
      // Out of memory. Retry: without this operation, no client could connect any more.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

static std::string addressOf(const tcp::socket &socket) {
  ErrorCode ec;
  auto address = socket.remote_endpoint(ec).address();
  if (ec)
    return {};
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return address.to_string();
}

void ServerCore::onAccepted(ErrorCode ec, tcp::socket socket) {
  if (stopping || ec == asio::error::operation_aborted)
    return;
  if (ec == asio::error::no_descriptors || ec == ErrorCode(ENFILE, ec.category()) ||
      ec == asio::error::no_buffer_space || ec == asio::error::no_memory) {
    outOfDescriptors();
    return;
  }
  if (ec && ec != asio::error::connection_aborted) {
    acceptLater(); // the error may persist, so wait
    return;
  }
  if (!ec)
    try {
      ++accepted;
      const bool full =
          connections.size() - refusing >= options.maxConnections && !evictOne(Clock::now());
      // A refusal is sent only if that is cheap. Over TLS it would first need a handshake.
      if (full && (tls || refusing >= options.maxRefusing)) {
        ++refused;
        socket.close(ec);
        accept();
        return;
      }
      std::string client = addressOf(socket);
      auto connection = std::make_shared<Connection>(
          *this, makeWire(std::move(socket), tls ? &*tls : nullptr, options.sendTimeout),
          std::move(client));
      connections.emplace(connection.get(), connection);
      connectionCount = connections.size();
      if (full) {
        connection->overLimit = true;
        ++refusing;
        connection->startRefused({503, "there are too many connections", "overloaded"});
      } else {
        connection->start();
      }
      if (!std::exchange(ticking, true))
        tick();
    } catch (...) {
      // There is no memory for another connection. Its socket is closed by now.
    }
  accept();
}

/// Avoids a loop of failing accept() calls: evicts a connection or rejects a client, and retries
/// later.
void ServerCore::outOfDescriptors() {
  if (!evictOne(Clock::now()) && spareDescriptor >= 0) {
    ::close(spareDescriptor);
    const int fd = ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) {
      ++refused;
      ::close(fd);
    }
    spareDescriptor = openSpare();
  }
  acceptLater();
}

void ServerCore::acceptLater() {
  acceptAgain.expires_after(std::chrono::milliseconds(20));
  acceptAgain.async_wait([this](ErrorCode ec) {
    if (!ec && !stopping)
      accept();
  });
}

bool ServerCore::evictOne(Clock::time_point now) {
  if (evictable.empty() || now - evictable.front()->phaseBegan < kEvictableAfter)
    return false;
  evictable.front()->close();
  return true;
}

void ServerCore::remove(Connection *connection) {
  if (connection->overLimit)
    --refusing;
  connections.erase(connection);
  connectionCount = connections.size();
}

void ServerCore::tick() {
  if (connections.empty() || stopping) {
    ticking = false;
    return;
  }
  ticker.expires_after(tickPeriod);
  ticker.async_wait([this](ErrorCode ec) {
    if (ec)
      return;
    try {
      const auto now = Clock::now();
      for (const auto &connection : all())
        connection->tick(now);
    } catch (...) {
      // There is no memory for the list. The next tick may succeed.
    }
    tick();
  });
}

/// Returns a copy of the list, since connections may close during an iteration.
std::vector<std::shared_ptr<Connection>> ServerCore::all() const {
  std::vector<std::shared_ptr<Connection>> list;
  list.reserve(connections.size());
  for (const auto &[key, connection] : connections)
    list.push_back(connection);
  return list;
}

void ServerCore::readMailSoon() {
  try {
    mailTimer.expires_after(kBurst);
    mailTimer.async_wait([this](ErrorCode ec) {
      if (!ec)
        readMail();
    });
  } catch (...) {
    readMail(); // no memory for the timer
  }
}

void ServerCore::readMail() {
  for (const auto &exchange : mailbox->takeAll())
    if (exchange->connection)
      exchange->connection->pump();
}

void ServerCore::responseBegins() {
  std::lock_guard lock(idleMutex);
  ++responses;
}

void ServerCore::responseEnds() {
  std::lock_guard lock(idleMutex);
  if (--responses == 0)
    idle.notify_all();
}

std::string ServerCore::newId() {
  // Ids are splitmix64 of a counter with a random seed. They are unique in this process, and unlikely
  // to collide with the ids of other processes.
  auto mix = [](uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  };
  const uint64_t n = ++ids * 0x9e3779b97f4a7c15ull;
  char text[40];
  std::snprintf(text, sizeof text, "req-%016llx%08llx",
                static_cast<unsigned long long>(mix(idSeed[0] + n)),
                static_cast<unsigned long long>(mix(idSeed[1] ^ n) >> 32));
  return text;
}

void ServerCore::closeAll() {
  stopping = true;
  ErrorCode ignored;
  acceptor.close(ignored);
  ticker.cancel();
  acceptAgain.cancel();
  mailTimer.cancel();
  while (!connections.empty())
    std::shared_ptr<Connection>(connections.begin()->second)->close();
}

namespace {

class AsioServer final : public Server {
public:
  AsioServer(const ServerOptions &options, Handler handler) : core(options, std::move(handler)) {}
  ~AsioServer() override { AsioServer::stop(); }

  Result<void> listen();
  Result<void> useTls();
  Result<void> renew(const std::vector<std::string> &apiKeys) override;

  uint16_t port() const override { return boundPort; }
  void start() override;
  void post(std::function<void()> work) override;
  void drain(int status, std::string body) override;
  bool waitUntilIdle(std::chrono::milliseconds atMost) override;
  void stop() override;
  ServerStats stats() const override;

private:
  void run();
  Result<std::optional<asio::ssl::context>> loadTls() const;

  ServerCore core;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::thread thread;
  uint16_t boundPort = 0;
};

Error cannotListen(const ServerOptions &options, const std::string &why) {
  return {ExitCode::Usage, "E0550", "the server cannot listen on this address",
          options.host + " port " + std::to_string(options.port) + ": " + why,
          "give an address of this machine and a free port: --host 127.0.0.1 --port 0 takes any"};
}

/// Refuses keys that no header can carry, because they would lock out every client. Refuses empty
/// keys, because they would lock out no client.
Result<void> checkKeys(const ServerOptions &options) {
  for (size_t i = 0; i < options.apiKeys.size(); ++i) {
    const std::string &key = options.apiKeys[i];
    if (key.empty() ||
        !std::all_of(key.begin(), key.end(), [](char c) { return c > 0x20 && c < 0x7f; }))
      return Error{ExitCode::Usage, "E0551", "an API key cannot be used",
                   "key " + std::to_string(i + 1) + " of " +
                       std::to_string(options.apiKeys.size()) +
                       (key.empty() ? " is empty" : " has spaces or bytes outside visible ASCII"),
                   "give keys of visible ASCII characters"};
  }
  if (options.apiKeys.empty() && !isLoopbackName(options.host))
    return Error{ExitCode::Usage, "E0537", "an API key is needed",
                 options.host + " is reachable from other machines, and no key was given",
                 "give --api-key KEY, or listen on 127.0.0.1"};
  return {};
}

Result<void> AsioServer::listen() {
  const ServerOptions &options = core.options;
  ErrorCode ec;
  auto address =
      asio::ip::make_address(options.host == "localhost" ? "127.0.0.1" : options.host, ec);
  if (ec)
    return cannotListen(options, "not an IP address");
  const tcp::endpoint endpoint(address, options.port);
  core.acceptor.open(endpoint.protocol(), ec);
  if (!ec)
    core.acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec && address.is_v6())
    core.acceptor.set_option(asio::ip::v6_only(false), ec);
  if (!ec)
    core.acceptor.bind(endpoint, ec);
  if (!ec)
    core.acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (!ec)
    boundPort = core.acceptor.local_endpoint(ec).port();
  if (ec)
    return cannotListen(options, ec.message());
  return {};
}

Result<std::optional<asio::ssl::context>> AsioServer::loadTls() const {
  const ServerOptions &options = core.options;
  std::optional<asio::ssl::context> tls;
  if (options.tlsCertificate.empty() && options.tlsKey.empty())
    return tls;
  auto failed = [&](const std::string &why) {
    ERR_clear_error();
    return Error{
        ExitCode::Usage, "E0552", "TLS cannot be set up", why,
        "give both a certificate chain and its key as PEM files: --tls-cert F --tls-key F"};
  };
  if (options.tlsCertificate.empty() || options.tlsKey.empty())
    return failed(options.tlsKey.empty() ? "there is a certificate but no key"
                                         : "there is a key but no certificate");
  tls.emplace(asio::ssl::context::tls_server);
  ErrorCode ec;
  tls->use_certificate_chain_file(options.tlsCertificate, ec);
  if (ec)
    return failed(options.tlsCertificate + ": " + ec.message());
  tls->use_private_key_file(options.tlsKey, asio::ssl::context::pem, ec);
  if (ec)
    return failed(options.tlsKey + ": " + ec.message());
  SSL_CTX *native = tls->native_handle();
  if (SSL_CTX_check_private_key(native) != 1)
    return failed(options.tlsKey + " is not the key of " + options.tlsCertificate);
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                  SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_alpn_select_cb(
      native,
      [](SSL *, const unsigned char **out, unsigned char *outLength, const unsigned char *in,
         unsigned inLength, void *) {
        static constexpr unsigned char ours[] = "\x08http/1.1";
        unsigned char *chosen = nullptr;
        if (SSL_select_next_proto(&chosen, outLength, ours, sizeof ours - 1, in, inLength) !=
            OPENSSL_NPN_NEGOTIATED)
          return SSL_TLSEXT_ERR_NOACK;
        *out = chosen;
        return SSL_TLSEXT_ERR_OK;
      },
      nullptr);
  return tls;
}

Result<void> AsioServer::useTls() {
  auto tls = loadTls();
  if (!tls)
    return tls.error();
  core.tls = std::move(*tls);
  return {};
}

Result<void> AsioServer::renew(const std::vector<std::string> &apiKeys) {
  ServerOptions changed = core.options;
  changed.apiKeys = apiKeys;
  if (auto fine = checkKeys(changed); !fine)
    return fine.error();
  auto tls = loadTls();
  if (!tls)
    return tls.error();
  // Existing connections keep what they need of the old certificate.
  auto fresh = std::make_shared<std::optional<asio::ssl::context>>(std::move(*tls));
  asio::post(core.io, [this, apiKeys, fresh] {
    core.keys.replace(apiKeys);
    core.tls = std::move(*fresh);
  });
  return {};
}

void AsioServer::run() {
  for (;;)
    try {
      core.io.run();
      return;
    } catch (...) {
      // Posted work threw an exception (connections catch their own). The loop goes on.
    }
}

void AsioServer::start() {
  if (thread.joinable() || core.stopping)
    return;
  work.emplace(core.io.get_executor());
  asio::post(core.io, [this] {
    core.mailbox->setThread(std::this_thread::get_id());
    core.accept();
  });
  // The program handles signals on other threads, so all are blocked on this one.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void AsioServer::post(std::function<void()> work) { asio::post(core.io, std::move(work)); }

void AsioServer::drain(int status, std::string body) {
  asio::post(core.io, [this, status, body = std::move(body)]() mutable {
    core.draining = true;
    core.drainStatus = status;
    core.drainBody = std::move(body);
    for (const auto &connection : core.all())
      connection->drain();
  });
}

bool AsioServer::waitUntilIdle(std::chrono::milliseconds atMost) {
  std::unique_lock lock(core.idleMutex);
  return core.idle.wait_for(lock, atMost, [&] { return core.responses == 0; });
}

void AsioServer::stop() {
  if (thread.joinable()) {
    asio::post(core.io, [this] { core.closeAll(); });
    work.reset();
    thread.join();
  } else {
    core.closeAll();
  }
  core.mailbox->close();
}

ServerStats AsioServer::stats() const {
  ServerStats stats;
  stats.accepted = core.accepted;
  stats.refused = core.refused;
  stats.requests = core.requests;
  stats.badRequests = core.badRequests;
  stats.droppedSlow = core.droppedSlow;
  stats.connections = core.connectionCount;
  return stats;
}

} // namespace

Result<std::unique_ptr<Server>> Server::create(const ServerOptions &options, Handler handler) {
  try {
    if (auto ok = checkKeys(options); !ok)
      return ok.error();
    auto server = std::make_unique<AsioServer>(options, std::move(handler));
    if (auto ok = server->useTls(); !ok)
      return ok.error();
    if (auto ok = server->listen(); !ok)
      return ok.error();
    return std::unique_ptr<Server>(std::move(server));
  } catch (const std::bad_alloc &) {
    return outOfMemory("setting up the server");
  } catch (const std::exception &e) {
    return cannotListen(options, e.what());
  }
}

} // namespace ingot::http
