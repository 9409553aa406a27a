//===- Keys.cpp - Comparing keys in constant time -------------------------===//
#include "runtime/server/http/Keys.h"

#include <algorithm>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

namespace ingot::http {

KeyRing::KeyRing(const std::vector<std::string> &keys) {
  // If no randomness is available, an attacker still faces plain SHA-256.
  (void)RAND_bytes(secret.data(), static_cast<int>(secret.size()));
  replace(keys);
}

void KeyRing::replace(const std::vector<std::string> &keys) {
  std::vector<Digest> before = std::move(digests);
  std::vector<int> numbersBefore = std::move(numbers);
  digests.clear();
  numbers.clear();
  for (const std::string &key : keys) {
    Digest digest{};
    if (!digestOf(key, digest))
      continue;
    const auto known = std::find(before.begin(), before.end(), digest);
    digests.push_back(digest);
    numbers.push_back(known == before.end() ? next++
                                            : numbersBefore[size_t(known - before.begin())]);
  }
}

bool KeyRing::digestOf(std::string_view text, Digest &digest) const {
  unsigned length = 0;
  return HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
              reinterpret_cast<const unsigned char *>(text.data()), text.size(), digest.data(),
              &length) != nullptr;
}

std::string basicPassword(std::string_view base64) {
  while (base64.ends_with('='))
    base64.remove_suffix(1);
  std::string text;
  uint32_t bits = 0;
  int held = 0;
  for (char c : base64) {
    static constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos)
      return {};
    bits = bits << 6 | static_cast<uint32_t>(digit);
    held += 6;
    if (held >= 8) {
      held -= 8;
      text += static_cast<char>(bits >> held & 0xff);
    }
  }
  const size_t colon = text.find(':');
  return colon == std::string::npos ? std::string() : text.substr(colon + 1);
}

int KeyRing::find(std::string_view presented) const {
  Digest digest{};
  if (!digestOf(presented, digest))
    return -1;
  int found = -1;
  for (size_t i = 0; i < digests.size(); ++i) {
    const int differs = CRYPTO_memcmp(digest.data(), digests[i].data(), digest.size());
    found = differs == 0 ? numbers[i] : found;
  }
  return found;
}

} // namespace ingot::http
