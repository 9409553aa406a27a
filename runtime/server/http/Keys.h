//===- Keys.h - Checking API keys -----------------------------------------===//
//
// The time of a byte-by-byte comparison would reveal to a patient client how many bytes were right.
// Here, presented and configured keys are hashed by HMAC-SHA-256 with a secret that is random per
// process. The digest of a presented key is compared with all configured digests, always to the end.
// The time therefore depends only on the length of the presented key.
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::http {

/// Returns the password in the base64 `user:password` of HTTP's Basic scheme, or "" if it is
/// malformed.
std::string basicPassword(std::string_view base64);

class KeyRing {
public:
  explicit KeyRing(const std::vector<std::string> &keys);
  /// Replaces the keys. A key that was there before keeps its number, and no number is reused.
  void replace(const std::vector<std::string> &keys);
  bool empty() const { return digests.empty(); }
  /// Returns the number of the key (initially its index). Returns -1 if the key is unknown or there is
  /// no memory for a digest.
  int find(std::string_view presented) const;

private:
  using Digest = std::array<unsigned char, 32>;
  bool digestOf(std::string_view text, Digest &digest) const;

  Digest secret{};
  std::vector<Digest> digests;
  std::vector<int> numbers;
  int next = 0;
};

} // namespace ingot::http
