//===- Keys.h - Checking API keys -----------------------------------------===//
//
// A byte-by-byte comparison would reveal to a patient client how many bytes were right. Here both
// sides go through HMAC-SHA-256 with a key that is random per process, and the digest is compared
// with all configured ones, always to the end. The time depends only on the length of the presented
// key.
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
  /// Replaces the keys. A key that stays keeps its number, and no number is reused.
  void replace(const std::vector<std::string> &keys);
  bool empty() const { return digests.empty(); }
  /// Returns the number of the key (initially its index), or -1 if it is unknown or there is no
  /// memory for a digest.
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
