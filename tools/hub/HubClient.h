//===- HubClient.h - Requests to a hub ------------------------------------===//
//
//   GET  ENDPOINT/api/models/ORG/NAME/revision/REVISION?blobs=true    the commit and the list of files
//   HEAD ENDPOINT/ORG/NAME/resolve/COMMIT/PATH                        X-Repo-Commit, X-Linked-Etag (else ETag),
//                                                                     X-Linked-Size (else Content-Length)
//   GET  the same                                                     the bytes, usually after a redirect
//
// The token goes only to the endpoint's own origin (scheme, host and port). A redirect to another host is
// followed without the token, and a redirect from https to http is not followed. Requests to a busy hub
// (408, 429, 5xx) and broken connections are retried (RetryPolicy). A permanent failure is one of these
// errors, all with exit 3:
//
//   E0152 no answer   E0153 not allowed (401, 403)   E0154 not found (404)   E0155 refused
//   E0171 rate limit   E0172 an unusable list   E0173 no metadata   E0174 no ranges
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/hub/HttpClient.h"
#include "tools/hub/Settings.h"
#include "tools/hub/WantedFiles.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ingot::hub {

/// Receives the progress of a fetch; the command line shows it.
class Listener {
public:
  virtual ~Listener() = default;
  /// Reports a line for the user.
  virtual void say(const std::string &line) = 0;
  /// Reports that `done` of the `total` bytes of `file` are present, `fetched` of which came in this run.
  /// Called for every piece that arrives.
  virtual void progress(const std::string &file, uint64_t done, uint64_t total,
                        uint64_t fetched) = 0;
  /// Reports that `file` is complete and checked.
  virtual void finished(const std::string &file, uint64_t bytes) = 0;
};

/// A repository at one commit.
struct Repository {
  std::string commit;
  std::vector<ListedFile> files; ///< only files with plain paths
};

/// A file as its hub describes it.
struct RemoteFile {
  std::string path, commit;
  std::string etag; ///< a blob's name; mostly sha256 (64 hex digits) or git's sha1 (40)
  uint64_t bytes = 0;
};

class HubClient {
public:
  /// Both arguments must outlive the client. Errors: E0161 of HttpClient.
  static Result<std::unique_ptr<HubClient>> open(const Settings &settings, Listener &listener);

  Result<Repository> repository(const Reference &reference);
  Result<RemoteFile> look(const Reference &reference, const std::string &commit,
                          const std::string &path);

  /// Consumes the bytes. `restart` means that they begin at byte 0 again, because the server does not support
  /// ranges. An error that the sink returns ends the transfer, and get() returns it.
  using Sink = std::function<Result<void>(std::span<const char> bytes, bool restart)>;
  /// Fetches the bytes of a file, starting at `from`, in one attempt. A connection that breaks is an error; the
  /// caller, which keeps the bytes, knows where to resume (mayGoOn).
  Result<void> get(const Reference &reference, const RemoteFile &file, uint64_t from,
                   const Sink &sink);
  /// Returns bytes `from` to `to`, inclusive. Errors: E0174: the server does not support ranges.
  Result<std::string> part(const Reference &reference, const RemoteFile &file, uint64_t from,
                           uint64_t to);

  /// Decides whether to resume after a get() that ended early, and waits as the policy requires. Returns
  /// false if resuming cannot help, or after too many attempts in a row without a byte gained.
  bool mayGoOn(uint64_t gained);

private:
  HubClient(const Settings &settings, Listener &listener)
      : settings(settings), listener(listener) {}
  /// Follows redirects; with `ownOnly` only up to the first that leads to another host.
  HttpAnswer follow(HttpRequest request, bool ownOnly);
  /// Calls follow() until it succeeds or fails permanently.
  Result<HttpAnswer> ask(const HttpRequest &request, bool ownOnly, const Reference &reference,
                         const std::string &path);
  /// Waits after attempt number `attempt`. Returns false if no attempt is left, or if the hub demands too
  /// long a wait.
  bool wait(const HttpAnswer &answer, int attempt);
  Error refusal(const HttpAnswer &answer, const Reference &reference,
                const std::string &path) const;
  std::string addressOf(const Reference &reference, const std::string &commit,
                        const std::string &path) const;

  const Settings &settings;
  Listener &listener;
  std::unique_ptr<HttpClient> http;
  bool everAnswered = false, broken = false;
  int fruitless = 0;
  HttpAnswer last;
};

} // namespace ingot::hub
