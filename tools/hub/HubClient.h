//===- HubClient.h - What a hub is asked ----------------------------------===//
//
//   GET  ENDPOINT/api/models/ORG/NAME/revision/REVISION?blobs=true    the commit and the list of files
//   HEAD ENDPOINT/ORG/NAME/resolve/COMMIT/PATH                        X-Repo-Commit, X-Linked-Etag (else ETag),
//                                                                     X-Linked-Size (else Content-Length)
//   GET  the same                                                     the bytes, mostly behind a redirect
//
// The token goes to the endpoint's own origin (scheme, host and port) alone: a redirect to another
// host is followed without it, and one from https to http not at all. A busy hub (429, 5xx) and broken
// connections are tried again (RetryPolicy); what is wrong for good is one of these errors, all with exit 3:
//
//   E0152 nobody answers   E0153 not allowed (401, 403)   E0154 not there (404)   E0155 an answer of no use
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

/// Told what happens; the command line shows it.
class Listener {
public:
  virtual ~Listener() = default;
  /// A line for people.
  virtual void say(const std::string &line) = 0;
  /// Bytes of `file` that are there now, of `total`; called with every piece that comes. `fetched` of them
  /// came in this run.
  virtual void progress(const std::string &file, uint64_t done, uint64_t total,
                        uint64_t fetched) = 0;
  /// `file` is whole and checked.
  virtual void finished(const std::string &file, uint64_t bytes) = 0;
};

/// A repository at one commit.
struct Repository {
  std::string commit;
  std::vector<ListedFile> files; ///< plain paths alone
};

/// A file as its hub describes it.
struct RemoteFile {
  std::string path, commit;
  std::string etag; ///< a blob's name: sha256 (64 hex digits) or git's sha1 (40), mostly
  uint64_t bytes = 0;
};

class HubClient {
public:
  /// E0161 of HttpClient. Both outlive the client.
  static Result<std::unique_ptr<HubClient>> open(const Settings &settings, Listener &listener);

  Result<Repository> repository(const Reference &reference);
  Result<RemoteFile> look(const Reference &reference, const std::string &commit,
                          const std::string &path);

  /// Where bytes go: `restart` says that they begin at byte 0 again (the server knows no ranges).
  /// An error of its own ends the transfer and is what comes back.
  using Sink = std::function<Result<void>(std::span<const char> bytes, bool restart)>;
  /// The bytes of a file from `from` on. A connection that breaks is an error too, after one attempt if
  /// nothing came: whoever keeps bytes knows where to go on (`interrupted`).
  Result<void> get(const Reference &reference, const RemoteFile &file, uint64_t from,
                   const Sink &sink);
  /// Bytes `from` to `to`, the last counted too. E0155 where the server has no ranges.
  Result<std::string> part(const Reference &reference, const RemoteFile &file, uint64_t from,
                           uint64_t to);

  /// The last get() ended before its end, and to go on may help; waits as the policy has it. False:
  /// too often without a byte gained.
  bool mayGoOn(uint64_t gained);

private:
  HubClient(const Settings &settings, Listener &listener)
      : settings(settings), listener(listener) {}
  /// Follows redirects; with `ownOnly` up to the first that leads to another host.
  HttpAnswer follow(HttpRequest request, bool ownOnly);
  /// The same until it succeeds, or is wrong for good.
  Result<HttpAnswer> ask(const HttpRequest &request, bool ownOnly, const Reference &reference,
                         const std::string &path);
  /// Waits before attempt number `attempt`; false: that is one too many, or the hub asks for too much.
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
