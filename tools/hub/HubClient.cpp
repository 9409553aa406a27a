//===- HubClient.cpp - See HubClient.h ------------------------------------===//
#include "tools/hub/HubClient.h"
#include "tools/hub/HubCache.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <simdjson.h>
#include <thread>

namespace ingot::hub {

namespace {

constexpr int kMostRedirects = 10;

/// Returns "scheme://host:port" of a URL, in lower case. Two spellings of one origin may differ (":443"); the token is
/// then not sent, which is the safe choice.
std::string originOf(const std::string &address) {
  const size_t host = address.find("://");
  std::string origin =
      address.substr(0, address.find_first_of("/?#", host == std::string::npos ? 0 : host + 3));
  std::ranges::transform(origin, origin.begin(), [](unsigned char c) { return std::tolower(c); });
  return origin;
}

/// Percent-encodes `text` for a URL. Letters, digits and the characters in `kept` stay unchanged.
std::string escaped(const std::string &text, std::string_view kept) {
  std::string out;
  for (const unsigned char c : text) {
    char hex[4];
    std::snprintf(hex, sizeof hex, "%%%02X", c);
    const bool plain =
        (c < 0x80 && std::isalnum(c)) || kept.find(static_cast<char>(c)) != std::string_view::npos;
    out += plain ? std::string(1, static_cast<char>(c)) : hex;
  }
  return out;
}

std::optional<uint64_t> number(const std::string &text) {
  uint64_t value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = failure == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole ? std::optional(value) : std::nullopt;
}

/// Reduces W/"abc" and "abc" to abc.
std::string bareEtag(std::string etag) {
  if (etag.starts_with("W/"))
    etag.erase(0, 2);
  std::erase(etag, '"');
  return etag;
}

/// Returns the first byte's offset from a Content-Range header ("bytes 100-199/1000") of a 206 response.
std::optional<uint64_t> firstOfRange(const std::string &range) {
  const size_t blank = range.find(' '), dash = range.find('-');
  if (blank == std::string::npos || dash == std::string::npos || dash < blank)
    return std::nullopt;
  return number(range.substr(blank + 1, dash - blank - 1));
}

bool isBusy(int status) { return status == 408 || status == 429 || status >= 500; }

/// Returns a server's text in a form fit for one line: no control characters and at most 200 bytes.
std::string printable(std::string text) {
  std::erase_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  return text.substr(0, 200);
}

} // namespace

Result<std::unique_ptr<HubClient>> HubClient::open(const Settings &settings, Listener &listener) {
  auto http = HttpClient::open();
  if (!http)
    return http.error();
  std::unique_ptr<HubClient> client(
      new HubClient(settings, listener)); // the constructor is private
  client->http = std::move(*http);
  return client;
}

std::string HubClient::addressOf(const Reference &reference, const std::string &commit,
                                 const std::string &path) const {
  return settings.endpoint + "/" + reference.repository + "/resolve/" + escaped(commit, "-._~") +
         "/" + escaped(path, "-._~/");
}

HttpAnswer HubClient::follow(HttpRequest request, bool ownOnly) {
  const std::string home = originOf(settings.endpoint);
  HttpAnswer answer;
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    request.token = originOf(request.url) == home ? settings.token : "";
    answer = http->send(request);
    if (answer.status < 300 || answer.status >= 400 || answer.location.empty() ||
        !answer.failure.empty())
      return answer;
    if (ownOnly && originOf(answer.location) != home)
      return answer;
    if (request.url.starts_with("https:") && !answer.location.starts_with("https:")) {
      answer.failure = "a redirect from https to " + originOf(answer.location) + " is not followed";
      return answer;
    }
    request.url = answer.location;
  }
  answer.failure = "more than " + std::to_string(kMostRedirects) + " redirects";
  return answer;
}

bool HubClient::wait(const HttpAnswer &answer, int attempt) {
  if (attempt >= settings.retry.attempts)
    return false;
  auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(settings.retry.first *
                                                                     (1 << (attempt - 1)));
  if (const auto asked = number(answer.header("retry-after")); asked && isBusy(answer.status)) {
    if (*asked > static_cast<uint64_t>(settings.retry.longestAsked.count()))
      return false;
    pause = std::chrono::seconds(*asked);
  }
  const std::string why = answer.failure.empty()
                              ? "the hub answers with " + std::to_string(answer.status)
                              : printable(answer.failure);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3g", static_cast<double>(pause.count()) / 1000);
  listener.say(why + "; trying again in " + seconds + " s");
  std::this_thread::sleep_for(pause);
  return true;
}

Result<HttpAnswer> HubClient::ask(const HttpRequest &request, bool ownOnly,
                                  const Reference &reference, const std::string &path) {
  for (int attempt = 1;; ++attempt) {
    HttpAnswer answer = follow(request, ownOnly);
    everAnswered |= answer.status != 0;
    const bool redirected =
        ownOnly && answer.status >= 300 && answer.status < 400 && answer.failure.empty();
    if (answer.succeeded() || redirected || answer.refused)
      return answer;
    // If the hub was never reached, there is no retry, so a user without a network does not wait.
    const bool worthIt =
        isBusy(answer.status) || (!answer.failure.empty() && (everAnswered || !answer.unreachable));
    if (!worthIt || !wait(answer, attempt))
      return refusal(answer, reference, path);
  }
}

Error HubClient::refusal(const HttpAnswer &answer, const Reference &reference,
                         const std::string &path) const {
  const std::string name = "hf:" + reference.repository, kind = answer.header("x-error-code");
  const std::string message = printable(answer.header("x-error-message"));
  const std::string status = "the hub answers with " + std::to_string(answer.status) +
                             (message.empty() ? "" : ": " + message);
  if (answer.status != 0 && !answer.failure.empty())
    return {ExitCode::File, "E0152",
            "the connection to the hub was lost" + (path.empty() ? "" : " while fetching " + path),
            printable(answer.failure), "try again: the download resumes where it stopped"};
  if (answer.status == 0)
    return {ExitCode::File, "E0152", "cannot reach the hub " + settings.endpoint,
            printable(answer.failure),
            "check the network and https_proxy; a checkpoint on this machine needs neither"};
  if ((answer.status == 401 || answer.status == 403) && kind == "GatedRepo")
    return {ExitCode::File, errors::kHubDenies,
            name + " is available only after accepting its licence", status,
            "accept it at " + settings.endpoint + "/" + reference.repository +
                ", then set HF_TOKEN to a token of that account, or: hf auth login"};
  if (answer.status == 401 || answer.status == 403)
    return {ExitCode::File, errors::kHubDenies, name + " does not exist or is private", status,
            settings.token.empty()
                ? "check the name; if it is private, set HF_TOKEN, or: hf auth login"
                : "check the name, and whether HF_TOKEN is still valid and may read it"};
  if (answer.status == 404) {
    if (kind == "RevisionNotFound")
      return {ExitCode::File, errors::kHubLacks,
              "there is no revision " + reference.revision + " of " + name, status,
              "omit it to use main, or see " + settings.endpoint + "/" + reference.repository +
                  "/commits/main"};
    if (!path.empty() && kind != "RepoNotFound")
      return {ExitCode::File, errors::kHubLacks, "there is no " + path + " in " + name, status,
              "see " + settings.endpoint + "/" + reference.repository + "/tree/main"};
    return {ExitCode::File, errors::kHubLacks, "there is no repository " + name, status,
            "check the name; if it is private, set HF_TOKEN, or: hf auth login"};
  }
  if (const std::string asked = answer.header("retry-after");
      answer.status == 429 && !asked.empty())
    return {ExitCode::File, "E0171",
            "the hub's rate limit was reached: retry in " + printable(asked) + " s", status,
            "with HF_TOKEN set, the limit is higher"};
  return {ExitCode::File, "E0155", "the hub " + settings.endpoint + " refused to serve " + name,
          status, "try again later"};
}

Result<Repository> HubClient::repository(const Reference &reference) {
  HttpRequest request;
  request.url = settings.endpoint + "/api/models/" + reference.repository + "/revision/" +
                escaped(reference.revision, "-._~") + "?blobs=true";
  auto answer = ask(request, /*ownOnly=*/false, reference, "");
  if (!answer)
    return answer.error();
  auto odd = [&](const std::string &why) {
    return Error{ExitCode::File, "E0172",
                 "the hub's list of hf:" + reference.repository + " cannot be used", why,
                 "is HF_ENDPOINT (" + settings.endpoint + ") a hub?"};
  };
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  std::string_view commit;
  if (parser.parse(answer->body).get(root) || root["sha"].get(commit))
    return odd("it is not JSON with a \"sha\"");
  Repository found{std::string(commit), {}};
  if (!isCommit(found.commit))
    return odd("its \"sha\" is not a commit");
  simdjson::dom::array siblings;
  if (root["siblings"].get(siblings))
    return odd("it has no \"siblings\"");
  for (simdjson::dom::element sibling : siblings) {
    std::string_view path;
    uint64_t bytes = 0;
    if (sibling["rfilename"].get(path) || !isPlainPath(path))
      continue; // no file that we need has such a name
    const bool sized = !sibling["size"].get(bytes);
    found.files.push_back({std::string(path), sized ? std::optional(bytes) : std::nullopt});
  }
  return found;
}

Result<RemoteFile> HubClient::look(const Reference &reference, const std::string &commit,
                                   const std::string &path) {
  HttpRequest request;
  request.url = addressOf(reference, commit, path);
  request.head = true;
  auto answer = ask(request, /*ownOnly=*/true, reference, path);
  if (!answer)
    return answer.error();
  RemoteFile file{path, answer->header("x-repo-commit"), bareEtag(answer->header("x-linked-etag")),
                  0};
  if (file.etag.empty())
    file.etag = bareEtag(answer->header("etag"));
  auto bytes = number(answer->header("x-linked-size"));
  if (!bytes && answer->status < 300)
    bytes = number(answer->header("content-length"));
  if (!isBlobName(file.etag) || !bytes)
    return Error{ExitCode::File, "E0173", "the hub has no metadata of " + path,
                 !bytes ? "its answer has no size" : "its ETag is missing or not a valid file name",
                 "is HF_ENDPOINT (" + settings.endpoint + ") a hub?"};
  file.bytes = *bytes;
  file.commit = commit;
  return file;
}

Result<void> HubClient::get(const Reference &reference, const RemoteFile &file, uint64_t from,
                            const Sink &sink) {
  Result<void> kept;
  bool first = true;
  HttpRequest request;
  request.url = addressOf(reference, file.commit, file.path);
  request.from = from;
  request.sink = [&](const HttpAnswer &answer, std::span<const char> bytes) {
    const bool ranged =
        answer.status == 206 && firstOfRange(answer.header("content-range")) == from;
    kept = sink(bytes, first && from > 0 && !ranged);
    first = false;
    return static_cast<bool>(kept);
  };
  last = follow(request, /*ownOnly=*/false);
  everAnswered |= last.status != 0;
  broken = false;
  if (!kept)
    return kept;
  if (last.succeeded())
    return {};
  if (last.status == 416 && from > 0) // no such range: start over
    return sink({}, /*restart=*/true);
  broken = isBusy(last.status) || !last.failure.empty();
  return refusal(last, reference, file.path);
}

bool HubClient::mayGoOn(uint64_t gained) {
  fruitless = gained ? 1 : fruitless + 1;
  return broken && wait(last, fruitless);
}

Result<std::string> HubClient::part(const Reference &reference, const RemoteFile &file,
                                    uint64_t from, uint64_t to) {
  HttpRequest request;
  request.url = addressOf(reference, file.commit, file.path);
  request.from = from;
  request.upTo = to;
  std::string bytes;
  request.sink = [&](const HttpAnswer &answer, std::span<const char> piece) {
    if (answer.status != 206) // the server would send all of a large file
      return false;
    bytes.append(piece.data(), piece.size());
    return bytes.size() <= to - from + 1;
  };
  auto answer = ask(request, /*ownOnly=*/false, reference, file.path);
  if (!answer)
    return answer.error();
  if (bytes.size() != to - from + 1)
    return Error{ExitCode::File, "E0174", "the hub does not serve ranges of " + file.path,
                 "requested " + std::to_string(to - from + 1) + " bytes, got " +
                     std::to_string(bytes.size()),
                 "fetch the model first: ingot run " + reference.text()};
  return bytes;
}

} // namespace ingot::hub
