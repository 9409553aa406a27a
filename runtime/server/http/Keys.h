//===- Keys.h - Is this one of the API keys? ------------------------------===//
//
// Comparing byte by byte tells a patient client how many bytes were right. Here both sides go
// through HMAC-SHA-256 under a key that is random in every process, the digests are compared with
// all configured ones, always to the end: time depends on the length of what was sent and on
// nothing else.
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::http {

/// The password in `user:password`, which HTTP's Basic scheme writes in base64; "" if it is none.
std::string basicPassword(std::string_view base64);

class KeyRing {
public:
  explicit KeyRing(const std::vector<std::string> &keys);
  /// Other keys from now on. One that stays keeps its number; no number is given twice.
  void replace(const std::vector<std::string> &keys);
  bool empty() const { return digests.empty(); }
  /// The number of the key, at first its index, or -1. A process without memory for a digest gets -1.
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
