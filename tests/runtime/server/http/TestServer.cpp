//===- TestServer.cpp - A server with a handler for tests -----------------===//
#include "TestServer.h"

#include <algorithm>
#include <stdexcept>

namespace ingot::http {

TestServer::TestServer(ServerOptions options, std::chrono::microseconds step) : step(step) {
  options.port = 0;
  auto made =
      Server::create(options, [this](HttpRequest request, std::shared_ptr<Responder> responder) {
        handle(std::move(request), std::move(responder));
      });
  if (!made)
    throw std::runtime_error(made.error().format());
  server = std::move(*made);
  server->start();
  engine = std::thread([this] { runEngine(); });
}

TestServer::~TestServer() {
  server->stop();
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  wake.notify_all();
  engine.join();
}

bool TestServer::serves(std::string_view lines) const {
  RawClient good = client();
  Answer answer = good.ask(post("/echo", "well", lines));
  return answer.status == 200 && answer.body.ends_with("\nwell");
}

size_t TestServer::held() {
  std::lock_guard lock(mutex);
  return kept.size();
}

void TestServer::release(const std::string &body) {
  std::vector<std::shared_ptr<Responder>> all;
  {
    std::lock_guard lock(mutex);
    all.swap(kept);
  }
  for (auto &responder : all)
    responder->send(200, "text/plain", body);
}

size_t TestServer::streams() {
  std::lock_guard lock(mutex);
  return active.size();
}

static std::string describe(const HttpRequest &request) {
  std::string text = request.method + " " + request.path + "\nquery " + request.query + "\nid " +
                     request.id + "\nclient " + request.client + "\nkey " +
                     std::to_string(request.apiKey) + "\n";
  for (const auto &[name, value] : request.headers)
    text += name + ": " + value + "\n";
  return text + "\n" + request.body;
}

void TestServer::handle(HttpRequest request, std::shared_ptr<Responder> responder) {
  responder->onGone([this] { ++gone; });
  if (request.path == "/never")
    return;
  if (request.path == "/throw")
    throw std::runtime_error("a handler that fails");
  if (request.path == "/break") {
    responder->begin(200, "text/plain");
    responder->write("part");
  } else if (request.path == "/begin" || request.path == "/half") {
    responder->begin(200, "text/event-stream");
    if (request.path == "/half")
      responder->write("data: ha");
    std::lock_guard lock(mutex);
    kept.push_back(std::move(responder));
  } else if (request.path == "/hold") {
    std::lock_guard lock(mutex);
    kept.push_back(std::move(responder));
  } else if (request.path == "/tokens" || request.path == "/flood") {
    responder->begin(200, "text/event-stream");
    Stream stream{.responder = std::move(responder),
                  .left = std::make_shared<std::atomic<bool>>(false),
                  .end = std::atoi(request.query.c_str()),
                  .flood = request.path == "/flood"};
    stream.responder->onGone([this, left = stream.left] {
      *left = true;
      ++gone;
    });
    std::lock_guard lock(mutex);
    active.push_back(std::move(stream));
    wake.notify_all();
  } else if (request.path == "/health") {
    responder->send(200, "text/plain", "ok");
  } else if (request.path == "/inject") {
    responder->send(
        200, "text/plain\r\nX-Type: evil", "ok",
        {{"X-Fine", "a\r\nX-Evil: 1"}, {"X Bad: y\r\nX-Evil", "1"}, {"Content-Length", "99"}});
  } else {
    responder->send(200, "text/plain", describe(request));
  }
}

void TestServer::runEngine() {
  for (;;) {
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return ending || !active.empty(); });
      if (ending) {
        active.clear();
        return;
      }
      std::erase_if(active, [](Stream &stream) {
        if (*stream.left)
          return true;
        if (stream.flood) {
          stream.responder->write(std::string(64 << 10, 'x'));
          return false;
        }
        stream.responder->write("data: " + std::to_string(stream.next++) + "\n\n");
        if (stream.next < stream.end)
          return false;
        stream.responder->finish();
        return true;
      });
    }
    std::this_thread::sleep_for(std::max(step, std::chrono::microseconds(100)));
  }
}

std::string tokens(int n) {
  std::string text;
  for (int i = 0; i < n; ++i)
    text += "data: " + std::to_string(i) + "\n\n";
  return text;
}

} // namespace ingot::http
