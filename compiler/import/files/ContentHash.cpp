//===- ContentHash.cpp - XXH3-128 of pieces, then of the hashes -----------===//
#include "compiler/import/files/ContentHash.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <xxhash.h>

namespace ingot::import {

namespace {

constexpr size_t kPiece = size_t(16) << 20;

/// Hashes pieces until none is left. Each thread runs this function.
void hashPieces(const std::vector<std::span<const std::byte>> &pieces,
                std::vector<XXH128_canonical_t> &hashes, std::atomic<size_t> &next,
                void (*done)(std::span<const std::byte>)) {
  for (size_t i = next++; i < pieces.size(); i = next++) {
    XXH128_canonicalFromHash(&hashes[i], XXH3_128bits(pieces[i].data(), pieces[i].size()));
    if (done)
      done(pieces[i]);
  }
}

} // namespace

std::string hashContent(const std::vector<std::span<const std::byte>> &files,
                        void (*done)(std::span<const std::byte>)) {
  std::vector<std::span<const std::byte>> pieces;
  std::vector<uint64_t> sizes;
  for (std::span<const std::byte> file : files) {
    sizes.push_back(file.size());
    for (size_t at = 0; at < file.size(); at += kPiece)
      pieces.push_back(file.subspan(at, std::min(kPiece, file.size() - at)));
  }
  std::vector<XXH128_canonical_t> hashes(pieces.size());
  std::atomic<size_t> next = 0;
  {
    size_t wanted = std::min<size_t>(std::thread::hardware_concurrency(), pieces.size());
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < wanted; ++i)
      threads.emplace_back([&] { hashPieces(pieces, hashes, next, done); });
    hashPieces(pieces, hashes, next, done);
  }

  std::string summary(sizes.size() * sizeof(uint64_t) + hashes.size() * sizeof(hashes[0]), '\0');
  std::memcpy(summary.data(), sizes.data(), sizes.size() * sizeof(uint64_t));
  std::memcpy(summary.data() + sizes.size() * sizeof(uint64_t), hashes.data(),
              hashes.size() * sizeof(hashes[0]));
  XXH128_canonical_t total;
  XXH128_canonicalFromHash(&total, XXH3_128bits(summary.data(), summary.size()));

  std::string hex;
  for (unsigned char byte : total.digest) {
    constexpr char kHex[] = "0123456789abcdef";
    hex += kHex[byte >> 4];
    hex += kHex[byte & 15];
  }
  return hex;
}

} // namespace ingot::import
