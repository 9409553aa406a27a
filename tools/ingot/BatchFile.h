//===- BatchFile.h - Requests and results of a batch, a line each -----------===//
//
// OpenAI's batch format. A request:
//
//   {"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{…}}
//
// and its result, in the order that they end:
//
//   {"id":"batch_req_…","custom_id":"a","response":{"status_code":200,"request_id":"req_…","body":{…}},"error":null}
//
// A line is written whole and at once, so that a batch that was interrupted, however, goes on where
// it was: what has a line is done, and a line without an end is taken back.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

namespace ingot::cli {

struct BatchRequest {
  std::string customId, url, body; ///< body: JSON
  std::string refusal;             ///< why it cannot be sent, or ""
};

class BatchInput {
public:
  /// Reads all of it once. E0120 where there is no file; E0144, exit 3, with the line, for one that
  /// is not JSON or has no custom_id of its own: there would be no way to say so in the results.
  static Result<BatchInput> open(const std::string &path);

  int64_t requests() const { return count; }
  /// From the first on.
  std::optional<BatchRequest> next();

private:
  std::ifstream file;
  int64_t count = 0;
};

class BatchOutput {
public:
  /// Creates the file, or opens one to go on with. E0121; E0141 it holds something else; E0142
  /// another process is at it; all exit 3.
  static Result<BatchOutput> open(const std::string &path);
  BatchOutput(BatchOutput &&other) noexcept;
  ~BatchOutput();

  bool has(const std::string &customId) const { return done.contains(customId); }
  /// A whole line. E0121.
  Result<void> add(const BatchRequest &request, int status, std::string_view body);
  /// Of a request that was not sent.
  Result<void> addRefused(const BatchRequest &request);

private:
  BatchOutput() = default;
  Result<void> write(std::string line);

  std::string path;
  int descriptor = -1;
  std::unordered_set<std::string> done;
};

} // namespace ingot::cli
