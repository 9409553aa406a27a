//===- TensorMap.cpp - Validity of tensor maps -------------------------------===//
#include "emulator/host/TensorMap.h"

namespace ingot::emulator {

std::string tensorMapProblem(const TensorMatrix &m) {
  const uint64_t boxRow = uint64_t(m.boxColumns) * m.elementBytes;
  auto say = [](const char *what, uint64_t value) { return what + (" " + std::to_string(value)); };
  if (m.elementBytes != 1 && m.elementBytes != 2 && m.elementBytes != 4)
    return say("elements must have 1, 2 or 4 bytes, not", m.elementBytes);
  if (uint64_t(m.base) % 16)
    return "the matrix must start on a 16-byte line";
  if (m.rowBytes % 16 || m.rowBytes >= 1ull << 40)
    return say("rows must be a multiple of 16 bytes apart, not", m.rowBytes);
  if (!m.columns || !m.rows || m.columns > 1ull << 32 || m.rows > 1ull << 32)
    return "extents must be 1 to 2^32";
  if (m.rowBytes < m.columns * m.elementBytes)
    return say("rows overlap: bytes from a row to the next", m.rowBytes);
  if (!m.boxColumns || !m.boxRows || m.boxColumns > 256 || m.boxRows > 256)
    return "a box has 1 to 256 columns and rows";
  if (boxRow % 16)
    return say("box rows must be a multiple of 16 bytes, not", boxRow);
  if (m.swizzle128 && boxRow > 128)
    return say("the 128-byte swizzle takes box rows of at most 128 bytes, not", boxRow);
  return {};
}

} // namespace ingot::emulator
