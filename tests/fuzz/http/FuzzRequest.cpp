// Parses arbitrary client bytes: any number of requests, then possibly a refusal, all within the
// limits. No request may contain bytes that could start a new log line or header line, and the
// requests must not depend on how the bytes are split. The first byte sets the split. The code past
// the reader (connections, responses) is tested by the mutated requests of tests/runtime/server/http.

#include "runtime/server/http/HeaderRules.h"
#include "runtime/server/http/RequestReader.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

using namespace ingot::http;

static constexpr size_t kHeader = 2048, kBody = 8192;

static void require(bool holds) {
  if (!holds)
    std::abort();
}

static bool isOneLine(const std::string &text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos;
}

static std::string check(RequestReader &reader) {
  const RequestHead &head = reader.head();
  require(!head.method.empty() && isOneLine(head.method) && isOneLine(head.path) &&
          isOneLine(head.query));
  require(head.path == "*" || head.path.starts_with('/'));
  require(reader.body().size() <= kBody);
  std::string text = head.method + " " + head.path + " " + head.query + "\n";
  for (const auto &[name, value] : head.headers) {
    require(!name.empty() && name == lowerCase(name) && isOneLine(name) && isOneLine(value));
    text += name + ":" + value + "\n";
  }
  require(head.headers.size() <= 128);
  require(head.authority.empty() || isAuthority(head.authority));
  return text + reader.body();
}

/// Returns the requests in `bytes`, fed to the reader in pieces of `piece` bytes.
static std::vector<std::string> readAll(std::string_view bytes, size_t piece) {
  RequestReader reader(kHeader, kBody);
  std::vector<std::string> requests;
  std::string held;
  while (!bytes.empty()) {
    held += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      const ReadState before = reader.state();
      const size_t taken = reader.read(held);
      require(taken <= held.size());
      held.erase(0, taken);
      if (reader.state() == ReadState::Refused) {
        require(reader.refusal().status >= 400 && !reader.refusal().message.empty());
        return requests;
      }
      if (reader.state() == ReadState::Examine)
        reader.acceptBody();
      if (reader.state() == ReadState::Done) {
        requests.push_back(check(reader));
        reader.reset();
        continue;
      }
      if (reader.state() == before && taken == 0)
        break;
    }
    require(held.size() <= piece + reader.mostHeldBytes() + 4);
  }
  return requests;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::string_view bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  require(readAll(bytes, 1 + data[0] % 64) == readAll(bytes, bytes.size()));
  return 0;
}
