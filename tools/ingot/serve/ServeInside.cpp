//===- ServeInside.cpp - See ServeInside.h -------------------------------------===//
//
//   ask() ──▶ api::Api ──▶ readers ──▶ engine's thread ──▶ desk's thread ──▶ News ──▶ take()
//
// The desk takes the place of the thread of http::Server. It writes the results of a step into the
// news, which the program takes when it is ready. A callback per token would wait for the
// interpreter's lock each time.
//===----------------------------------------------------------------------===//
#include "tools/ingot/serve/ServeInside.h"

#include "runtime/server/http/Server.h"
#include "tools/ingot/serve/ServeModels.h"

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <sys/eventfd.h>
#include <unistd.h>
#include <unordered_map>

using namespace ingot;
using namespace ingot::cli;

struct ingot_server_error {
  Error error;
};

namespace {

/// A thread that runs the work posted to it, in order.
class Desk {
public:
  Desk() : thread([this] { run(); }) {}
  ~Desk() {
    {
      std::lock_guard lock(mutex);
      ends = true;
    }
    wake.notify_one();
    thread.join();
  }
  void post(std::function<void()> work) {
    {
      std::lock_guard lock(mutex);
      waiting.push_back(std::move(work));
    }
    wake.notify_one();
  }

private:
  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [this] { return ends || !waiting.empty(); });
      if (waiting.empty())
        return;
      auto work = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      work();
      work = nullptr; // destroying its captures may post more work
      lock.lock();
    }
  }

  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> waiting;
  bool ends = false;
  std::thread thread;
};

/// The answers to requests that the program has not yet taken.
class News {
public:
  News() : descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~News() { close(descriptor); }
  News(const News &) = delete;
  News &operator=(const News &) = delete;

  void report(const ingot_server_news &head, std::string_view headers, std::string_view body) {
    std::lock_guard lock(mutex);
    if (coming.empty())
      eventfd_write(descriptor, 1);
    coming.append(reinterpret_cast<const char *>(&head), sizeof head).append(headers).append(body);
  }
  std::string_view take() {
    std::lock_guard lock(mutex);
    eventfd_t count;
    eventfd_read(descriptor, &count);
    taken.clear();
    std::swap(taken, coming);
    return taken;
  }

  const int descriptor;

private:
  std::mutex mutex;
  std::string coming, taken;
};

/// A request in flight, shared by its responder and its canceller.
class Asked {
public:
  Asked(std::shared_ptr<News> news, uint64_t user, std::string id)
      : id(std::move(id)), news(std::move(news)), user(user) {}

  void report(int32_t kind, int32_t status = 0, std::string_view type = {},
              const http::Headers &headers = {}, std::string_view data = {}) {
    std::string lines;
    if (kind == INGOT_ANSWER_WHOLE || kind == INGOT_ANSWER_HEAD) {
      lines = "content-type: " + std::string(type) + "\nx-request-id: " + id + "\n";
      for (const auto &[name, value] : headers)
        lines += name + ": " + value + "\n";
    }
    std::lock_guard lock(mutex);
    if (over)
      return;
    over = kind == INGOT_ANSWER_WHOLE || kind >= INGOT_ANSWER_END;
    news->report({user, kind, status, uint32_t(lines.size()), uint32_t(data.size())}, lines, data);
  }

  /// Marks the request as left by its client. Returns the callback to run on the desk's thread.
  std::function<void()> leave() {
    std::lock_guard lock(mutex);
    if (over)
      return {};
    over = true;
    left.store(true, std::memory_order_release);
    return std::move(onGone);
  }

  void setGone(std::function<void()> callback) {
    std::unique_lock lock(mutex);
    if (left.load(std::memory_order_acquire) && callback) {
      lock.unlock();
      callback();
    } else {
      std::swap(onGone, callback); // the old callback is destroyed without the lock
      lock.unlock();
    }
  }

  const std::string id;
  std::atomic<bool> left = false;

private:
  std::mutex mutex;
  std::shared_ptr<News> news;
  uint64_t user;
  bool over = false;
  std::function<void()> onGone;
};

class InsideResponder final : public http::Responder {
public:
  InsideResponder(std::shared_ptr<Asked> asked, std::function<void()> done)
      : asked(std::move(asked)), done(std::move(done)) {}
  ~InsideResponder() override {
    asked->report(INGOT_ANSWER_BROKEN);
    done();
  }
  InsideResponder(const InsideResponder &) = delete;
  InsideResponder &operator=(const InsideResponder &) = delete;

  void send(int status, std::string_view contentType, std::string body,
            http::Headers headers) override {
    asked->report(INGOT_ANSWER_WHOLE, status, contentType, headers, body);
  }
  void begin(int status, std::string_view contentType, http::Headers headers) override {
    asked->report(INGOT_ANSWER_HEAD, status, contentType, headers);
  }
  void write(std::string bytes) override { asked->report(INGOT_ANSWER_BYTES, 0, {}, {}, bytes); }
  void finish() override { asked->report(INGOT_ANSWER_END); }
  void onGone(std::function<void()> callback) override { asked->setGone(std::move(callback)); }
  bool gone() const override { return asked->left.load(std::memory_order_acquire); }

private:
  std::shared_ptr<Asked> asked;
  std::function<void()> done;
};

/// Parses lines of "name: value".
http::Headers readHeaders(std::string_view text) {
  http::Headers out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const size_t colon = line.find(": "); colon != std::string_view::npos)
      out.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return out;
}

/// The requests in flight, by number.
struct UnderWay {
  std::mutex mutex;
  uint64_t last = 0;
  std::unordered_map<uint64_t, std::weak_ptr<Asked>> asked;
};

ingot_server_error *errorOf(Error error) { return new ingot_server_error{std::move(error)}; }

} // namespace

struct ingot_server {
  ServeModels options;
  std::optional<ServerLog> log;
  std::shared_ptr<UnderWay> underWay = std::make_shared<UnderWay>();
  std::shared_ptr<News> news = std::make_shared<News>();
  Desk desk;
  api::Post post = [this](std::function<void()> work) { desk.post(std::move(work)); };
  std::shared_ptr<service::ModelRegistry> models;
  std::unique_ptr<api::Api> routes; ///< destroyed first: its threads use the rest

  Result<void> open(const char *const *arguments, size_t count) {
    if (news->descriptor < 0)
      return Error{ExitCode::File, "E0508", "there is no file descriptor left",
                   std::strerror(errno), "raise `ulimit -n`, or stop other programs"};
    CommandLine line("", "ingot serve");
    options.defineEngine(line);
    options.defineService(line);
    std::vector<const char *> words{"serve"};
    words.insert(words.end(), arguments, arguments + count);
    auto parsed = line.parse(int(words.size()), words.data());
    if (!parsed)
      return parsed.error();
    auto sources = modelSources(options);
    if (!sources)
      return sources.error();
    auto opened = ServerLog::open(options.log, options.engine.common.quiet, INGOT_VERSION);
    if (!opened)
      return opened.error();
    log = std::move(*opened);
    auto served = openModels(options, *sources, post);
    if (!served)
      return served.error();
    models = std::move(*served);
    api::ApiOptions given;
    given.version = INGOT_VERSION;
    given.observers = log->observers();
    given.trace = log->traces();
    given.keepBodies = options.log.prompts;
    given.moreMetrics = [this] { return log->metrics(); };
    routes = std::make_unique<api::Api>(models, std::move(given), post);
    return {};
  }

  /// Cancels the requests in flight. Returns false if a step does not end, so that destruction
  /// would wait for its thread.
  bool stop() {
    std::vector<std::shared_ptr<Asked>> open;
    {
      std::lock_guard lock(underWay->mutex);
      for (auto &[number, weak] : underWay->asked)
        if (auto asked = weak.lock())
          open.push_back(std::move(asked));
    }
    for (const auto &asked : open)
      if (auto call = asked->leave())
        post(std::move(call));
    return !models || models->stopAll();
  }
};

extern "C" {

uint32_t ingot_server_abi_version(void) { return INGOT_SERVER_ABI_VERSION; }

int32_t ingot_server_error_status(const ingot_server_error *error) {
  return int32_t(error->error.exit);
}
const char *ingot_server_error_part(const ingot_server_error *error, int part) {
  const Error &reason = error->error;
  const std::string *parts[] = {&reason.code, &reason.what, &reason.why, &reason.fix};
  return part < 0 || part > 3 ? "" : parts[part]->c_str();
}
void ingot_server_error_free(ingot_server_error *error) { delete error; }

ingot_server *ingot_server_open(const char *const *arguments, size_t count,
                                ingot_server_error **error) {
  auto server = std::make_unique<ingot_server>();
  Error why{ExitCode::Internal, "E0902", "an exception reached the library's boundary", "",
            "this is a bug in ingot: please report it"};
  try {
    auto opened = server->open(arguments, count);
    if (opened)
      return server.release();
    why = opened.error();
  } catch (const std::bad_alloc &) {
    why = {ExitCode::File, errors::kOutOfMemory, "there is not enough memory",
           "the system refused to allocate more", "stop other programs, or request less"};
  } catch (const std::exception &thrown) {
    why.why = thrown.what();
  }
  if (error)
    *error = errorOf(std::move(why));
  return nullptr;
}

int ingot_server_close(ingot_server *server) {
  if (!server)
    return 1;
  const bool ended = server->stop();
  if (ended)
    delete server;
  return ended;
}

int ingot_server_descriptor(ingot_server *server) { return server->news->descriptor; }
size_t ingot_server_take(ingot_server *server, const void **news) {
  const std::string_view taken = server->news->take();
  *news = taken.data();
  return taken.size();
}

uint64_t ingot_server_ask(ingot_server *server, const char *method, const char *target,
                          const char *headers, const void *body, size_t size, uint64_t user) {
  http::HttpRequest request;
  request.method = method;
  const std::string_view whole = target;
  const size_t question = std::min(whole.find('?'), whole.size());
  request.path = whole.substr(0, question);
  request.query = whole.substr(std::min(question + 1, whole.size()));
  request.headers = readHeaders(headers);
  request.body.assign(static_cast<const char *>(body), size);
  request.id = request.header("x-request-id");
  uint64_t number = 0;
  std::shared_ptr<UnderWay> underWay = server->underWay;
  std::shared_ptr<Asked> asked;
  {
    std::lock_guard lock(underWay->mutex);
    number = ++underWay->last;
    if (request.id.empty())
      request.id = "inside-" + std::to_string(number);
    asked = std::make_shared<Asked>(server->news, user, request.id);
    underWay->asked.emplace(number, asked);
  }
  auto done = [underWay, number] {
    std::lock_guard lock(underWay->mutex);
    underWay->asked.erase(number);
  };
  server->routes->handle(std::move(request),
                         std::make_shared<InsideResponder>(std::move(asked), std::move(done)));
  return number;
}

void ingot_server_cancel(ingot_server *server, uint64_t request) {
  std::shared_ptr<Asked> asked;
  {
    std::lock_guard lock(server->underWay->mutex);
    auto found = server->underWay->asked.find(request);
    if (found == server->underWay->asked.end())
      return;
    asked = found->second.lock();
  }
  if (!asked)
    return;
  if (auto call = asked->leave())
    server->post(std::move(call));
}

ingot_server_error *ingot_server_failure(ingot_server *server) {
  auto failure = server->models->failure();
  return failure ? errorOf(*failure) : nullptr;
}

} // extern "C"
