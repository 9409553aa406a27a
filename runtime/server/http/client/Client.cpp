//===- Client.cpp - Connections and their responses -------------------------===//
#include "runtime/server/http/client/Client.h"

#include "runtime/server/http/client/ResponseParser.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

namespace ingot::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

Result<ServerUrl> parseUrl(std::string_view text) {
  const Error wrong{ExitCode::Usage, "E0582",
                    "the server's address cannot be read: " + std::string(text), "",
                    "give http://HOST:PORT, as http://127.0.0.1:8000"};
  if (text.starts_with("https://")) {
    Error error = wrong;
    error.why = "https is not supported";
    return error;
  }
  if (text.starts_with("http://"))
    text.remove_prefix(7);
  else if (text.find("://") != std::string_view::npos)
    return wrong;
  ServerUrl url;
  const size_t slash = std::min(text.find('/'), text.size());
  url.path = text.substr(slash);
  while (url.path.ends_with('/'))
    url.path.pop_back();
  std::string_view place = text.substr(0, slash), port;
  if (place.starts_with('[')) {
    const size_t close = place.find(']');
    if (close == std::string_view::npos)
      return wrong;
    url.host = place.substr(1, close - 1);
    place.remove_prefix(close + 1);
    if (!place.empty() && place[0] != ':')
      return wrong;
    port = place.empty() ? place : place.substr(1);
  } else {
    const size_t colon = std::min(place.find(':'), place.size());
    url.host = place.substr(0, colon);
    port = colon < place.size() ? place.substr(colon + 1) : "";
  }
  if (!port.empty()) {
    auto [end, bad] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (bad != std::errc() || end != port.data() + port.size() || url.port == 0)
      return wrong;
  }
  // The host and path go into headers, so control bytes and spaces are refused.
  for (char c : url.host + url.path)
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f)
      return wrong;
  if (url.host.empty())
    return wrong;
  return url;
}

namespace {

constexpr size_t kReadBytes = 16 << 10;
constexpr std::chrono::seconds kConnectTimeout{10};

struct Connection {
  explicit Connection(asio::io_context &io) : socket(io), timer(io) {}
  tcp::socket socket;
  asio::steady_timer timer;
  std::array<char, kReadBytes> input;
  bool used = false; ///< the connection has carried a response before
  bool idle = false; ///< the connection is in the pool
};

} // namespace

class ClientLoop::Core {
public:
  explicit Core(ServerUrl server) : server(std::move(server)) {}

  struct Call {
    ClientRequest request;
    ClientEvents events;
    std::string bytes; ///< the serialised request
    std::shared_ptr<Connection> connection;
    std::optional<ResponseParser> parser;
    std::chrono::steady_clock::time_point deadline;
  };

  Ticket send(ClientRequest request, ClientEvents events) {
    const Ticket ticket = ++last;
    auto call = std::make_shared<Call>();
    call->bytes = requestText(request);
    call->request = std::move(request);
    call->events = std::move(events);
    call->deadline = std::chrono::steady_clock::now() + call->request.timeout;
    calls.emplace(ticket, call);
    begin(ticket, call, /*mayReuse=*/true);
    return ticket;
  }

  void abandon(Ticket ticket) {
    const auto found = calls.find(ticket);
    if (found == calls.end())
      return;
    if (auto connection = std::exchange(found->second->connection, nullptr))
      close(*connection);
    calls.erase(found);
    dropIdleIfDone();
  }

  asio::io_context io{1};

private:
  using CallPointer = std::shared_ptr<Call>;

  std::string requestText(const ClientRequest &request) const {
    std::string text = request.method + " " + server.path + request.path + " HTTP/1.1\r\nHost: ";
    text += server.host.find(':') == std::string::npos ? server.host : "[" + server.host + "]";
    text += ":" + std::to_string(server.port) + "\r\n";
    for (const auto &[name, value] : request.headers)
      text += name + ": " + value + "\r\n";
    if (!request.body.empty() || request.method == "POST")
      text += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
    return text + "\r\n" + request.body;
  }

  void begin(Ticket ticket, const CallPointer &call, bool mayReuse) {
    call->parser.emplace(call->request.method == "HEAD");
    if (mayReuse && !pool.empty()) {
      call->connection = std::move(pool.back());
      pool.pop_back();
      call->connection->idle = false;
      ErrorCode ignored;
      call->connection->socket.cancel(ignored); // ends the read that waits for a close
      call->connection->timer.expires_at(call->deadline);
      watch(ticket, call);
      return write(ticket, call);
    }
    call->connection = std::make_shared<Connection>(io);
    auto connection = call->connection;
    connection->timer.expires_at(
        std::min(call->deadline, std::chrono::steady_clock::now() +
                                     std::chrono::steady_clock::duration(kConnectTimeout)));
    watch(ticket, call);
    if (places.empty()) {
      // The name is looked up once. The look-up blocks, but it precedes any measurement.
      ErrorCode failed;
      tcp::resolver resolver(io);
      for (const auto &entry : resolver.resolve(server.host, std::to_string(server.port), failed))
        places.push_back(entry.endpoint());
      if (failed || places.empty()) {
        asio::post(io, [this, ticket, call, failed] {
          end(ticket, call, "the host name cannot be resolved: " + failed.message());
        });
        return;
      }
    }
    asio::async_connect(connection->socket, places,
                        [this, ticket, call, connection](ErrorCode failed, const tcp::endpoint &) {
                          if (call->connection != connection)
                            return;
                          if (failed)
                            return end(ticket, call, "connect: " + failed.message());
                          ErrorCode ignored;
                          connection->socket.set_option(tcp::no_delay(true), ignored);
                          connection->timer.expires_at(call->deadline);
                          watch(ticket, call);
                          write(ticket, call);
                        });
  }

  void watch(Ticket ticket, const CallPointer &call) {
    call->connection->timer.async_wait(
        [this, ticket, call, connection = call->connection](ErrorCode cancelled) {
          if (!cancelled && call->connection == connection)
            end(ticket, call, "timeout");
        });
  }

  void write(Ticket ticket, const CallPointer &call) {
    auto connection = call->connection;
    asio::async_write(connection->socket, asio::buffer(call->bytes),
                      [this, ticket, call, connection](ErrorCode failed, size_t) {
                        // A server may answer and close before it has read the whole request.
                        if (failed && call->connection == connection)
                          broken(ticket, call, "write: " + failed.message());
                      });
    read(ticket, call);
  }

  void read(Ticket ticket, const CallPointer &call) {
    auto connection = call->connection;
    connection->socket.async_read_some(
        asio::buffer(connection->input),
        [this, ticket, call, connection](ErrorCode failed, size_t bytes) {
          if (call->connection == connection)
            took(ticket, call, failed, bytes);
        });
  }

  void took(Ticket ticket, const CallPointer &call, ErrorCode failed, size_t bytes) {
    auto connection = call->connection;
    if (failed) {
      if (failed == asio::error::eof && call->parser->endsWithConnection())
        return end(ticket, call, "");
      return broken(ticket, call,
                    failed == asio::error::eof
                        ? "the server closed the connection before the answer ended"
                        : "read: " + failed.message());
    }
    connection->used = true;
    const bool hadHead = call->parser->status() != 0;
    const std::string wrong =
        call->parser->put({connection->input.data(), bytes}, [&](std::string_view data) {
          if (call->connection == connection)
            reportHead(*call, hadHead);
          if (call->connection == connection && call->events.onData)
            call->events.onData(data);
        });
    if (call->connection != connection)
      return; // a callback abandoned the request
    if (!wrong.empty())
      return end(ticket, call, wrong);
    reportHead(*call, hadHead);
    if (call->connection != connection)
      return;
    if (call->parser->done())
      return end(ticket, call, "");
    read(ticket, call);
  }

  void reportHead(Call &call, bool hadHead) {
    if (hadHead || call.parser->status() == 0 || call.parser->headReported)
      return;
    call.parser->headReported = true;
    if (call.events.onHead)
      call.events.onHead(call.parser->status());
  }

  /// Handles a broken connection. The server may have closed a kept connection just when it was
  /// reused. The request then counts as unanswered and is tried again on a new connection.
  void broken(Ticket ticket, const CallPointer &call, const std::string &why) {
    const bool again = call->connection->used && call->parser->untouched();
    if (!again)
      return end(ticket, call, why);
    close(*call->connection);
    begin(ticket, call, /*mayReuse=*/false);
  }

  void end(Ticket ticket, const CallPointer &call, const std::string &failure) {
    auto connection = std::exchange(call->connection, nullptr);
    if (!connection)
      return; // the request was abandoned meanwhile
    calls.erase(ticket);
    connection->timer.cancel();
    if (failure.empty() && call->parser->keepsConnection())
      keep(connection);
    else
      close(*connection);
    if (call->events.onEnd)
      call->events.onEnd(failure);
    dropIdleIfDone();
  }

  /// Pools a connection. If anything arrives while it is idle, usually its end, it is removed from
  /// the pool.
  void keep(const std::shared_ptr<Connection> &connection) {
    connection->idle = true;
    pool.push_back(connection);
    connection->socket.async_wait(tcp::socket::wait_read, [this, connection](ErrorCode failed) {
      if (failed || !connection->idle)
        return;
      close(*connection);
      std::erase(pool, connection);
    });
  }

  void close(Connection &connection) {
    ErrorCode ignored;
    connection.timer.cancel();
    connection.socket.close(ignored);
  }

  /// Closes idle connections when nothing is under way, so that run() can return.
  void dropIdleIfDone() {
    asio::post(io, [this] {
      if (!calls.empty() || timers)
        return;
      for (auto &connection : pool)
        close(*connection);
      pool.clear();
    });
  }

public:
  void after(std::chrono::nanoseconds delay, std::function<void()> work) {
    auto timer = std::make_shared<asio::steady_timer>(
        io, std::chrono::duration_cast<std::chrono::steady_clock::duration>(delay));
    ++timers;
    timer->async_wait([this, timer, work = std::move(work)](ErrorCode) {
      --timers;
      work();
      dropIdleIfDone();
    });
  }

private:
  const ServerUrl server;
  Ticket last = 0;
  size_t timers = 0;
  std::map<Ticket, CallPointer> calls;
  std::vector<std::shared_ptr<Connection>> pool;
  std::vector<tcp::endpoint> places;
};

ClientLoop::ClientLoop(ServerUrl server) : core(std::make_unique<Core>(std::move(server))) {}
ClientLoop::~ClientLoop() { core->io.stop(); }

ClientLoop::Ticket ClientLoop::send(ClientRequest request, ClientEvents events) {
  return core->send(std::move(request), std::move(events));
}

void ClientLoop::abandon(Ticket ticket) { core->abandon(ticket); }

void ClientLoop::after(std::chrono::nanoseconds delay, std::function<void()> work) {
  core->after(delay, std::move(work));
}

void ClientLoop::run() {
  core->io.restart();
  core->io.run();
}

void ClientLoop::stop() { core->io.stop(); }

ClientLoop::Answer ClientLoop::ask(ClientRequest request) {
  Answer answer;
  send(std::move(request),
       {.onHead = [&](int status) { answer.status = status; },
        .onData = [&](std::string_view data) { answer.body += data; },
        .onEnd = [&](const std::string &failure) { answer.failure = failure; }});
  run();
  return answer;
}

} // namespace ingot::http
