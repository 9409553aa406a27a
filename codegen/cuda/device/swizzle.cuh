//===- swizzle.cuh - Where a byte of a 128-byte row lies in shared memory --===//
//
// A tile is eight rows of 128 bytes, each of eight chunks of 16 bytes. Chunk c of row r is stored at
// chunk c ^ (r % 8). So the eight rows of one column of chunks, which ldmatrix or a tensor core reads
// at once, are in eight different groups of banks. TMA and wgmma compute the swizzle from address
// bits (4…6 ^= 7…9), so a tile must start on a 1024-byte boundary.
//
//   row 0   0 1 2 3 4 5 6 7
//   row 1   1 0 3 2 5 4 7 6
//   row 2   2 3 0 1 6 7 4 5   …
//===----------------------------------------------------------------------===//
#pragma once

/// `byte` = row * 128 + column, from the start of the tile.
DEVICE u32 swizzle128(u32 byte) { return byte ^ ((byte >> 3) & 0x70); }
/// Rows of 64 bytes: pairs of rows share a line of 128 bytes (bits 4…5 ^= 7…8).
DEVICE u32 swizzle64(u32 byte) { return byte ^ ((byte >> 3) & 0x30); }
