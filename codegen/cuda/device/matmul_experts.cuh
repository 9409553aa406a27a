//===- matmul_experts.cuh - Projections whose rows each have an expert -------===//
//
// The main loops are the same as for other projections (matmul_decode.cuh, matmul_prefill.cuh). A block
// works on one expert at a time, with tiles of its matrix and only rows of that expert. So the sums of a
// row do not depend on the other rows. The rows of each expert are divided into tiles of `Most` rows:
//
//   segments of routes     expert 1: 3 rows   expert 4: 11 rows   expert 6: 2 rows
//   tiles of 8 rows            0                  1   2               3
//   blocks along y = 3         0                  1   2               0
//
// Only the device knows the number of tiles. Every warp counts them for itself, 32 experts at a time.
// The grid is sized for about as many tiles as its tokens can have (codegen/cuda/MatmulExperts.cpp).
// Blocks without a tile exit; if there are more tiles, a block takes several.
//===----------------------------------------------------------------------===//
#pragma once

#include "routes.cuh"

/// Rows first … end - 1 of one expert.
struct RowTile {
  i32 expert, first, end;
};
/// Returns tile `number` among the tiles of all experts; beyond the last, a tile without rows. Called by
/// all lanes of a warp.
template <i32 Most> DEVICE RowTile row_tile(const Routes &routes, i32 number) {
  const i32 lane = threadIdx.x % 32, count = *routes.count;
  NO_UNROLL
  for (i32 from = 0; from < count; from += 32) {
    RouteSegment own{0, 0, 0};
    if (from + lane < count)
      own = routes.segment(from + lane);
    const i32 tiles = divide_up(own.end - own.first, Most);
    i32 upTo = tiles; // including the tiles of the lanes before
    UNROLL
    for (i32 distance = 1; distance < 32; distance *= 2) {
      const i32 other = shfl_up(upTo, distance);
      upTo += lane >= distance ? other : 0;
    }
    if (const u32 beyond = warp_ballot(upTo > number)) {
      const i32 at = 32 - (i32)popcount(beyond); // the first such lane
      const i32 first = shfl_idx(own.first, at) + (number - shfl_idx(upTo - tiles, at)) * Most;
      return {shfl_idx(own.expert, at), first, shfl_idx(own.end, at)};
    }
    number -= shfl_idx(upTo, 31);
  }
  return {0, 0, 0};
}

/// Calls body(expert, first, end) for every tile of the block. A tile has rows first … first + Most - 1
/// as far as they are below `end`. Called by all threads. Between two tiles only the tile's number stays
/// in a register, since main loops have none to spare.
template <i32 Used, i32 Most, class Body>
DEVICE void each_row_tile(const i32 *memory, const BatchView *batch, Body body) {
  pdl_wait();
  NO_UNROLL
  for (i32 number = blockIdx.y;; number += gridDim.y) {
    const RowTile tile = row_tile<Most>(Routes(memory, batch, Used), number);
    if (tile.first == tile.end)
      return;
    body(tile.expert, tile.first, (i64)tile.end);
    sync_block(); // shared memory is free again
  }
}

/// Iterates over the block's tiles of rows; the first has number `number`.
template <i32 Used, i32 Most> struct RowTiles {
  const i32 *memory; ///< routes
  const BatchView *batch;
  i32 number;
  /// Called by all lanes of a warp.
  MEMBER RowTile operator*() const { return row_tile<Most>(Routes(memory, batch, Used), number); }
  MEMBER RowTiles &operator++() {
    number += gridDim.y;
    return *this;
  }
};

/// Calls pad_rows for the block's tiles. Called by all threads, after pdl_wait.
template <i32 From, i32 To, i32 Used, i32 Most, class T>
DEVICE void pad_row_tiles(T *y, RowTiles<Used, Most> tiles) {
  NO_UNROLL
  for (;; ++tiles) {
    const RowTile rows = *tiles;
    if (rows.first == rows.end)
      return;
    pad_rows<From, To>(y, rows.first, rows.first + Most < rows.end ? rows.first + Most : rows.end);
  }
}
