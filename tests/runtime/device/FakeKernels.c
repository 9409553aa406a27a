/*===- FakeKernels.c - A model whose logits follow from arithmetic ----------===
 *
 * Kernels of the real ABI (runtime/abi/KernelAbi.h) for a "language model" of
 * whole numbers below 8191, exact in f32. It has every stage of a real model
 * (embedding, KV pages written and read through the block table, attention tiles,
 * layer weights, rows of logits). A bug in scheduling, paging, partition or
 * addressing therefore changes the numbers. FakeEngine.cpp evaluates the same
 * formulas directly.
 *===----------------------------------------------------------------------===*/
#include <stdint.h>

struct Tile {
  int32_t firstToken, tokens, sequence, firstPosition;
};

struct Span {
  int32_t firstToken, tokens, from, firstWrite, writes, zero;
};

struct Write {
  int32_t token, slot;
};

struct Batch {
  int64_t tokens, sequences, rows, tiles;
  const int32_t *ids, *positions, *sequenceOf, *rowTokens;
  const struct Tile *attentionTiles;
  const int32_t *blockTable;
  int64_t blockTableStride, others[6];
  const struct Span *stateSpans;
  int64_t spanCount;
  const struct Write *stateWrites;
};

enum { PAGE = 32, HEAD_DIM = 16, MODULUS = 8191, LINE = 16 /* floats per token row */ };

#define KERNEL __attribute__((visibility("default"))) void
#define ARGS                                                                                       \
  void *const *args, const struct Batch *batch, int64_t begin, int64_t end, int64_t step,          \
      char *scratch, int64_t ahead

/* Layout of a page: k[HEAD_DIM][PAGE], then v[PAGE][HEAD_DIM]. */
static float *page(void *pool, const struct Batch *batch, int32_t sequence, int64_t position) {
  int64_t number = batch->blockTable[sequence * batch->blockTableStride + position / PAGE];
  return (float *)pool + number * (2 * HEAD_DIM * PAGE);
}

/* Grid: tokens. args: hidden. */
KERNEL embed(ARGS) {
  float *hidden = args[0];
  for (int64_t t = begin; t < end; t += step)
    hidden[t * LINE] = (float)batch->ids[t];
}

/* Grid: constant 5. args: constants. */
KERNEL constants(ARGS) {
  float *out = args[0];
  for (int64_t i = begin; i < end; i += step)
    out[i] = (float)(i * 11 + 1);
}

/* Grid: tokens. args: hidden, KV. */
KERNEL append(ARGS) {
  const float *hidden = args[0];
  for (int64_t t = begin; t < end; t += step) {
    int64_t position = batch->positions[t], slot = position % PAGE;
    float *to = page(args[1], batch, batch->sequenceOf[t], position);
    to[3 * PAGE + slot] = hidden[t * LINE];
    to[HEAD_DIM * PAGE + slot * HEAD_DIM + 5] = hidden[t * LINE] + (float)(position % 5);
  }
}

/* Grid: tiles. args: attended, KV, layer weight. Scratch accumulates the sums of a tile. */
KERNEL attend(ARGS) {
  float *attended = args[0];
  int64_t weight = (int64_t)((const float *)args[2])[7];
  int64_t *sums = (int64_t *)scratch;
  for (int64_t i = begin; i < end; i += step) {
    const struct Tile tile = batch->attentionTiles[i];
    for (int64_t row = 0; row < tile.tokens; ++row) {
      int64_t h = 0;
      for (int64_t q = 0; q <= tile.firstPosition + row; ++q) {
        const float *from = page(args[1], batch, tile.sequence, q);
        int64_t k = (int64_t)from[3 * PAGE + q % PAGE];
        int64_t v = (int64_t)from[HEAD_DIM * PAGE + (q % PAGE) * HEAD_DIM + 5];
        h = (h * 31 + k * 3 + v + q * 7 + weight) % MODULUS;
      }
      sums[row] = h;
    }
    for (int64_t row = 0; row < tile.tokens; ++row)
      attended[(tile.firstToken + row) * LINE] = (float)sums[row];
  }
}

/* Grid: tokens. args: attended, hidden. */
KERNEL residual(ARGS) {
  const float *attended = args[0];
  float *hidden = args[1];
  for (int64_t t = begin; t < end; t += step)
    hidden[t * LINE] = attended[t * LINE];
}

/* Grid: spans. args: hidden, fixed state. The state is the first number of a slot. */
KERNEL recur(ARGS) {
  float *hidden = args[0], *slots = args[1];
  for (int64_t i = begin; i < end; i += step) {
    const struct Span span = batch->stateSpans[i];
    const struct Write *write = batch->stateWrites + span.firstWrite, *last = write + span.writes;
    int64_t r = span.from < 0 ? 0 : (int64_t)slots[span.from * LINE];
    for (int32_t t = span.firstToken; t < span.firstToken + span.tokens; ++t) {
      int64_t h = (int64_t)hidden[t * LINE];
      r = (r * 29 + h + 11) % MODULUS;
      hidden[t * LINE] = (float)((h + r) % MODULUS);
      if (write < last && write->token == t)
        slots[write++->slot * LINE] = (float)r;
    }
  }
}

/* Grid: rows. args: hidden, states (four values per row). */
KERNEL states(ARGS) {
  const float *hidden = args[0];
  float *out = args[1];
  for (int64_t row = begin; row < end; row += step) {
    int64_t h = (int64_t)hidden[batch->rowTokens[row] * LINE];
    for (int64_t k = 0; k < 4; ++k)
      out[row * 2 * LINE + k] = (float)((h * (7 + 13 * k) + k * k * 101 + 17) % 127 - 63);
  }
}

/* Grid: rows * 4, a quarter of the vocabulary each. args: hidden, constants, weight, logits. */
KERNEL head(ARGS) {
  const float *hidden = args[0], *constant = args[1], *weight = args[2];
  float *logits = args[3];
  int64_t vocab = (int64_t)weight[0], stride = (vocab + 31) / 32 * 32;
  int64_t sum = 0;
  for (int i = 0; i < 5; ++i)
    sum += (int64_t)constant[i];
  for (int64_t item = begin; item < end; item += step) {
    int64_t row = item / 4, part = item % 4;
    int64_t h = (int64_t)hidden[batch->rowTokens[row] * LINE];
    for (int64_t v = vocab * part / 4; v < vocab * (part + 1) / 4; ++v)
      logits[row * stride + v] = (float)((h * (v + 3) + v * v * 7 + sum) % 1009) / 64.0f;
  }
}
