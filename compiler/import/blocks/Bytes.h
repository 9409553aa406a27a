//===- Bytes.h - Unaligned loads --------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstring>

namespace ingot::import {

template <typename T> T load(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

} // namespace ingot::import
