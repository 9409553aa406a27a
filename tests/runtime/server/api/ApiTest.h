//===- ApiTest.h - The routes over the fake engine, no sockets -------------===//
//
// A queue with a single thread replaces the server's thread. A responder stores its response.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/Api.h"
#include "tests/runtime/session/ExecutorAround.h"
#include "tests/runtime/session/FakeSession.h"

#include <condition_variable>
#include <simdjson.h>

namespace ingot::test {

class KeptResponse final : public http::Responder {
public:
  void send(int code, std::string_view, std::string text, http::Headers fields) override {
    std::lock_guard lock(mutex);
    status = code;
    body = std::move(text);
    headers = std::move(fields);
    over = true;
    wake.notify_all();
  }
  void begin(int code, std::string_view, http::Headers) override {
    std::lock_guard lock(mutex);
    status = code;
  }
  void write(std::string bytes) override {
    std::lock_guard lock(mutex);
    body += bytes;
  }
  void finish() override {
    std::lock_guard lock(mutex);
    over = true;
    wake.notify_all();
  }
  void onGone(std::function<void()>) override {}
  bool gone() const override { return false; }

  bool wait(std::chrono::seconds time = std::chrono::seconds(20)) {
    std::unique_lock lock(mutex);
    return wake.wait_for(lock, time, [&] { return over; });
  }
  int status = 0;
  std::string body;
  http::Headers headers;

private:
  std::mutex mutex;
  std::condition_variable wake;
  bool over = false;
};

class ApiTest : public FakeSessionTest {
protected:
  FakeOptions options() override { return withTokenizer(); }

  /// Serves one model, "m".
  void serve(const runtime::SessionOptions &session, const std::string &chatTemplate,
             double stepLimit = 0) {
    service::ModelOptions model;
    model.name = "m";
    model.chatTemplate = chatTemplate;
    model.templateVariables = variables;
    model.toolFormat = toolFormat;
    model.service.dispatch = [this](std::function<void()> work) { thread.push(std::move(work)); };
    model.service.stepLimit = stepLimit;
    model.rules = rules;
    auto made = service::ServedModel::create(open(session), model);
    ASSERT_TRUE(made) << made.error().format();
    (*made)->prepareGrammars();
    models->add(std::move(*made));
    routes =
        std::make_unique<api::Api>(models, api::ApiOptions{}, [this](std::function<void()> work) {
          thread.push(std::move(work));
        });
  }
  void TearDown() override {
    routes.reset();
    models->stopAll();
    models.reset();
    FakeSessionTest::TearDown();
  }

  std::shared_ptr<KeptResponse> begin(const std::string &path, const std::string &body = "") {
    auto response = std::make_shared<KeptResponse>();
    http::HttpRequest request;
    request.method = body.empty() ? "GET" : "POST";
    request.path = path;
    request.body = body;
    request.id = "test";
    thread.push([this, request, response] { routes->handle(request, response); });
    return response;
  }
  /// Sends a request, checks the status and returns the answer as JSON.
  simdjson::dom::element ask(const std::string &path, const std::string &body, int status = 200) {
    auto response = begin(path, body);
    EXPECT_TRUE(response->wait()) << "no answer";
    EXPECT_EQ(response->status, status) << response->body;
    simdjson::dom::element parsed;
    EXPECT_FALSE(parser.parse(response->body).get(parsed)) << response->body;
    return parsed;
  }
  static std::string at(simdjson::dom::element json, std::string_view pointer) {
    simdjson::dom::element found;
    if (json.at_pointer(pointer).get(found) || found.is_null())
      return "(none)";
    return found.is_string() ? std::string(found.get_string().value_unsafe())
                             : simdjson::minify(found);
  }

  service::RequestRules rules; ///< used by serve()
  std::string variables;       ///< used by serve(): variables of the chat template
  std::string toolFormat;      ///< used by serve(): a name as for --tool-format
  std::shared_ptr<service::ModelRegistry> models = std::make_shared<service::ModelRegistry>();
  service::WorkQueue thread{1};
  std::unique_ptr<api::Api> routes;
  simdjson::dom::parser parser;
};

} // namespace ingot::test
