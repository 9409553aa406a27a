//===- BatchFile.cpp - Reading requests, writing results --------------------===//
#include "tools/ingot/serve/BatchFile.h"

#include "runtime/server/api/AnswerStream.h"
#include "runtime/server/api/Fields.h"
#include "tools/files/Json.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace ingot::cli {

namespace {

constexpr size_t kMostIdBytes = 4096, kMostUrlBytes = 256;

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// Reads a request from a line that has passed the first read, so it has a custom_id.
BatchRequest readRequest(std::string_view line) {
  BatchRequest request;
  api::Document document;
  auto fields = document.parse(line);
  request.customId = fields->text("custom_id", kMostIdBytes).value_or("");
  fields->require("url");
  fields->require("body");
  const auto method = fields->oneOf("method", {"POST"});
  request.url = fields->text("url", kMostUrlBytes).value_or("");
  auto body = fields->object("body");
  if (!method && !document.error())
    fields->fail("method", "is missing; a batch uses POST");
  // Ollama's routes stream by default.
  const bool ollama = request.url == "/api/chat" || request.url == "/api/generate";
  if (body && body->boolean("stream").value_or(ollama))
    body->fail("stream", "is not supported in a batch");
  if (document.error())
    request.refusal = document.error()->param.empty()
                          ? document.error()->message
                          : document.error()->param + ": " + document.error()->message;
  else
    request.body = fields->json("body");
  return request;
}

} // namespace

Result<BatchInput> BatchInput::open(const std::string &path) {
  BatchInput input;
  input.file.open(path, std::ios::binary);
  if (!input.file)
    return Error{ExitCode::File, "E0120", "cannot read " + path, std::strerror(errno),
                 "give a file of requests, one JSON object per line"};
  std::unordered_set<std::string> seen;
  std::string line;
  auto wrong = [&](int64_t number, std::string why) {
    return Error{ExitCode::File, "E0144",
                 path + ": line " + std::to_string(number) + " is not a batch request",
                 std::move(why),
                 R"(a line is {"custom_id":"…","method":"POST","url":"/v1/…","body":{…}})"};
  };
  for (int64_t number = 1; std::getline(input.file, line); ++number) {
    if (blank(line))
      continue;
    api::Document document;
    auto fields = document.parse(line);
    if (!fields)
      return wrong(number, document.error()->message);
    fields->require("custom_id");
    const auto id = fields->text("custom_id", kMostIdBytes);
    if (!id)
      return wrong(number, document.error()->message);
    if (!seen.insert(std::string(*id)).second)
      return wrong(number, "duplicate custom_id \"" + std::string(*id) + "\"");
    ++input.count;
  }
  input.file.clear();
  input.file.seekg(0);
  return input;
}

std::optional<BatchRequest> BatchInput::next() {
  std::string line;
  while (std::getline(file, line))
    if (!blank(line))
      return readRequest(line);
  return std::nullopt;
}

Result<BatchOutput> BatchOutput::open(const std::string &path) {
  BatchOutput output;
  output.path = path;
  output.descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (output.descriptor < 0)
    return Error{ExitCode::File, "E0121", "cannot write " + path, std::strerror(errno),
                 "write the results to another place"};
  if (::flock(output.descriptor, LOCK_EX | LOCK_NB) != 0)
    return Error{ExitCode::File, "E0142", "another batch is writing " + path, std::strerror(errno),
                 "wait until it ends, or give another file"};
  std::ifstream file(path, std::ios::binary);
  std::string line;
  int64_t number = 1, whole = 0;
  for (; std::getline(file, line) && !file.eof(); ++number) {
    api::Document document;
    auto fields = document.parse(line);
    const auto id = fields ? fields->text("custom_id", kMostIdBytes) : std::nullopt;
    if (!id || !(fields->has("response") || fields->has("error")))
      return Error{ExitCode::File, "E0141", path + " is not a results file",
                   "line " + std::to_string(number) +
                       " has no custom_id with a response or an error",
                   "give a new file, or the output of an earlier run"};
    output.done.emplace(*id);
    whole += int64_t(line.size()) + 1;
  }
  // Bytes after the last newline are a partial line of an interrupted run.
  if (::ftruncate(output.descriptor, whole) != 0 && errno != EINVAL) // EINVAL: not a regular file
    return Error{ExitCode::File, "E0121", "cannot write " + path, std::strerror(errno),
                 "write the results to another place"};
  return output;
}

BatchOutput::BatchOutput(BatchOutput &&other) noexcept
    : path(std::move(other.path)), descriptor(std::exchange(other.descriptor, -1)),
      done(std::move(other.done)) {}

BatchOutput::~BatchOutput() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Result<void> BatchOutput::add(const BatchRequest &request, int status, std::string_view body) {
  const std::string response = JsonObject()
                                   .field("status_code", status)
                                   .field("request_id", api::newId("req_"))
                                   .raw("body", body)
                                   .str();
  return write(JsonObject()
                   .field("id", api::newId("batch_req_"))
                   .field("custom_id", request.customId)
                   .raw("response", response)
                   .raw("error", "null")
                   .str());
}

Result<void> BatchOutput::addRefused(const BatchRequest &request) {
  const std::string error =
      JsonObject().field("code", "E0145").field("message", request.refusal).str();
  return write(JsonObject()
                   .field("id", api::newId("batch_req_"))
                   .field("custom_id", request.customId)
                   .raw("response", "null")
                   .raw("error", error)
                   .str());
}

Result<void> BatchOutput::write(std::string line) {
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = ::write(descriptor, rest.data(), rest.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return Error{ExitCode::File, "E0121", "cannot write " + path, std::strerror(errno),
                   "free some space and repeat the command: it resumes where it stopped"};
    rest.remove_prefix(size_t(written));
  }
  return {};
}

} // namespace ingot::cli
