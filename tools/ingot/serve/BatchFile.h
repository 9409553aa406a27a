//===- BatchFile.h - The request and result files of a batch ----------------===//
//
// OpenAI's batch format. A request:
//
//   {"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{…}}
//
// and its result; results are in the order in which requests finish:
//
//   {"id":"batch_req_…","custom_id":"a","response":{"status_code":200,"request_id":"req_…","body":{…}},"error":null}
//
// A result line is written whole and at once, so a batch that was interrupted in any way can resume. A
// request with a result line is done; an incomplete last line is removed.
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
  std::string refusal;             ///< why it cannot be sent; empty: it can
};

class BatchInput {
public:
  /// Reads the whole file once. Errors: E0120: there is no file; E0144, exit 3, with the line number: a line
  /// is not JSON or has no unique custom_id, so no result could report the problem.
  static Result<BatchInput> open(const std::string &path);

  int64_t requests() const { return count; }
  /// Returns the next request, starting with the first.
  std::optional<BatchRequest> next();

private:
  std::ifstream file;
  int64_t count = 0;
};

class BatchOutput {
public:
  /// Creates the file, or opens an existing one to resume. Errors, all with exit 3: E0121; E0141: it holds
  /// lines that are not results; E0142: another process is using it.
  static Result<BatchOutput> open(const std::string &path);
  BatchOutput(BatchOutput &&other) noexcept;
  ~BatchOutput();

  bool has(const std::string &customId) const { return done.contains(customId); }
  /// Writes one whole line. Errors: E0121.
  Result<void> add(const BatchRequest &request, int status, std::string_view body);
  /// Writes the result of a request that was not sent.
  Result<void> addRefused(const BatchRequest &request);

private:
  BatchOutput() = default;
  Result<void> write(std::string line);

  std::string path;
  int descriptor = -1;
  std::unordered_set<std::string> done;
};

} // namespace ingot::cli
