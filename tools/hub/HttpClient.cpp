//===- HttpClient.cpp - libcurl, loaded on demand -------------------------===//
#include "tools/hub/HttpClient.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <dlfcn.h>

#define CURL_DISABLE_TYPECHECK // its macros cannot see through pointers to functions
#include <curl/curl.h>

namespace ingot::hub {

namespace {

constexpr long kConnectSeconds = 10, kSilentSeconds = 30;

/// The libcurl functions that we use. They stay loaded for the life of the process.
struct Curl {
  decltype(&curl_global_init) globalInit;
  decltype(&curl_easy_init) init;
  decltype(&curl_easy_setopt) set;
  decltype(&curl_easy_perform) perform;
  decltype(&curl_easy_getinfo) info;
  decltype(&curl_easy_strerror) words;
  decltype(&curl_easy_reset) reset;
  decltype(&curl_easy_cleanup) cleanup;
  decltype(&curl_slist_append) append;
  decltype(&curl_slist_free_all) freeList;
};

template <typename F> bool bind(void *library, const char *name, F &function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

/// Returns null if libcurl is not installed. Debian has two builds with the same ABI.
const Curl *loadCurl() {
  for (const char *name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    static Curl curl;
    if (library && bind(library, "curl_global_init", curl.globalInit) &&
        bind(library, "curl_easy_init", curl.init) && bind(library, "curl_easy_setopt", curl.set) &&
        bind(library, "curl_easy_perform", curl.perform) &&
        bind(library, "curl_easy_getinfo", curl.info) &&
        bind(library, "curl_easy_strerror", curl.words) &&
        bind(library, "curl_easy_reset", curl.reset) &&
        bind(library, "curl_easy_cleanup", curl.cleanup) &&
        bind(library, "curl_slist_append", curl.append) &&
        bind(library, "curl_slist_free_all", curl.freeList) &&
        curl.globalInit(CURL_GLOBAL_DEFAULT) == CURLE_OK)
      return &curl;
  }
  return nullptr;
}

const Curl *theCurl() {
  static const Curl *curl = loadCurl();
  return curl;
}

/// A transfer in progress; libcurl passes it to the callbacks.
struct Transfer {
  const HttpRequest &request;
  HttpAnswer answer;
};

size_t onHeader(char *bytes, size_t, size_t size, void *given) {
  auto &answer = static_cast<Transfer *>(given)->answer;
  std::string_view line(bytes, size);
  while (line.ends_with('\n') || line.ends_with('\r'))
    line.remove_suffix(1);
  if (line.starts_with("HTTP/")) { // drop the headers of a proxy's answer or of "100 Continue"
    answer.headers.clear();
    const size_t blank = line.find(' ');
    answer.status = blank == std::string_view::npos ? 0 : std::atoi(line.data() + blank + 1);
    return size;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos)
    return size;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  line.remove_prefix(colon + 1);
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  answer.headers[name] = std::string(line);
  return size;
}

size_t onBody(char *bytes, size_t, size_t size, void *given) {
  auto &[request, answer] = *static_cast<Transfer *>(given);
  if (request.sink && answer.status >= 200 && answer.status < 300)
    return (answer.refused = !request.sink(answer, {bytes, size})) ? 0 : size;
  if (answer.body.size() + size > kMostBody)
    return 0;
  answer.body.append(bytes, size);
  return size;
}

} // namespace

std::string HttpAnswer::header(const std::string &name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

struct HttpClient::Impl {
  const Curl &curl;
  CURL *handle;
};

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
HttpClient::~HttpClient() { impl->curl.cleanup(impl->handle); }

Result<std::unique_ptr<HttpClient>> HttpClient::open() {
  const Curl *curl = theCurl();
  CURL *handle = curl ? curl->init() : nullptr;
  if (!handle)
    return Error{ExitCode::Internal, "E0161", "cannot fetch models: libcurl is not installed",
                 "looked for libcurl.so.4 and libcurl-gnutls.so.4",
                 "apt install libcurl4, or give a checkpoint's folder"};
  return std::unique_ptr<HttpClient>(
      new HttpClient(std::make_unique<Impl>(*curl, handle))); // the constructor is private
}

HttpAnswer HttpClient::send(const HttpRequest &request) {
  const Curl &curl = impl->curl;
  CURL *handle = impl->handle;
  Transfer transfer{request, {}};
  char words[CURL_ERROR_SIZE] = {};
  curl.reset(handle); // clears the options, keeps the connections
  curl.set(handle, CURLOPT_URL, request.url.c_str());
  curl.set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl.set(handle, CURLOPT_NOSIGNAL, 1L);
  curl.set(handle, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl.set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl.set(handle, CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
  curl.set(handle, CURLOPT_USERAGENT, "ingot/" INGOT_VERSION);
  curl.set(handle, CURLOPT_ERRORBUFFER, words);
  curl.set(handle, CURLOPT_HEADERFUNCTION, onHeader);
  curl.set(handle, CURLOPT_HEADERDATA, &transfer);
  curl.set(handle, CURLOPT_WRITEFUNCTION, onBody);
  curl.set(handle, CURLOPT_WRITEDATA, &transfer);
  curl.set(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (request.head)
    curl.set(handle, CURLOPT_NOBODY, 1L);
  std::string range;
  if (request.from || request.upTo) {
    range = std::to_string(request.from) + "-" +
            (request.upTo ? std::to_string(*request.upTo) : std::string());
    curl.set(handle, CURLOPT_RANGE, range.c_str());
  }
  // A compressed body would differ from the file in length and bytes.
  curl_slist *headers = curl.append(nullptr, "Accept-Encoding: identity");
  if (!request.token.empty())
    headers = curl.append(headers, ("Authorization: Bearer " + request.token).c_str());
  curl.set(handle, CURLOPT_HTTPHEADER, headers);

  const CURLcode code = curl.perform(handle);
  curl.freeList(headers);
  HttpAnswer &answer = transfer.answer;
  if (code != CURLE_OK) {
    answer.failure = words[0] ? words : curl.words(code);
    answer.unreachable =
        answer.status == 0 &&
        (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
         code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_OPERATION_TIMEDOUT ||
         code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
         code == CURLE_SSL_CACERT_BADFILE || code == CURLE_PROXY);
  }
  const char *location = nullptr;
  if (curl.info(handle, CURLINFO_REDIRECT_URL, &location) == CURLE_OK && location)
    answer.location = location;
  curl.set(handle, CURLOPT_ERRORBUFFER, nullptr); // `words` goes out of scope
  return std::move(answer);
}

} // namespace ingot::hub
