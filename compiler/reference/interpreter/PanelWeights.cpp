//===- PanelWeights.cpp - See PanelWeights.h ------------------------------===//
#include "compiler/reference/interpreter/PanelWeights.h"
#include "compiler/reference/Products.h"
#include "compiler/reference/interpreter/WeightReader.h"
#include "dialects/kernel/KernelDialect.h"
#include "dialects/lm/ops/Weights.h"
#include "runtime/formats/DummyWeights.h"

#include "llvm/Support/xxhash.h"

#include <numeric>
#include <sys/mman.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;

static constexpr int64_t kBasePanels = 5; // a prime, so no size of a head or tile divides it
static constexpr int64_t kPage = 4096;

/// The kBasePanels distinct panels that a weight repeats over and over.
struct PanelWeights::Base {
  PanelLayout layout;            ///< layout of kBasePanels panels
  std::vector<std::byte> panels; ///< packed panels, if the weight is a matrix
  Matrix numbers;                ///< decoded values: for a matrix, of the panels' rows; for a
                                 ///< vector, its only row

  int64_t rowOf(int64_t panel, int64_t rowInPanel) const {
    return panel % kBasePanels * kPanelRows + rowInPanel;
  }
};

/// A private address range.
struct PanelWeights::Mapping {
  explicit Mapping(int64_t bytes) : bytes(roundUp(bytes, kPage)) {
    void *at = mmap(nullptr, size_t(this->bytes), PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    address = at == MAP_FAILED ? nullptr : static_cast<std::byte *>(at);
  }
  Mapping(const Mapping &) = delete;
  ~Mapping() {
    if (address)
      munmap(address, size_t(bytes));
  }
  /// Maps `length` bytes of a file repeatedly over the range. The length is a multiple of a page.
  bool repeat(int file, int64_t length) const {
    for (int64_t at = 0; at < bytes; at += length)
      if (mmap(address + at, size_t(std::min(length, bytes - at)), PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED)
        return false;
    return true;
  }

  int64_t bytes;
  std::byte *address;
};

PanelWeights::PanelWeights(uint64_t seed) : seed(seed) {}
PanelWeights::~PanelWeights() = default;

static uint64_t tensorOf(llvm::StringRef name) { return llvm::xxh3_64bits(name); }

const PanelWeights::Base &PanelWeights::baseOf(llvm::StringRef name, lm::WeightType type) {
  std::unique_ptr<Base> &own = bases[name];
  if (own)
    return *own;
  own = std::make_unique<Base>();
  if (type.isVector()) { // the values are so large that attention prefers some positions to
                         // others even in narrow models
    own->numbers = Matrix(1, type.rows());
    for (size_t i = 0; i < own->numbers.values.size(); ++i)
      own->numbers.values[i] = 1 + 2 * uniform(seed ^ tensorOf(name), i);
    return *own;
  }
  own->layout = panelLayout(type.getFormat(), kBasePanels * kPanelRows, type.columns());
  own->panels.resize(size_t(own->layout.bytes()));
  fillSeedPanels(seed, tensorOf(name), own->layout, 0, own->panels);
  own->numbers = Matrix(own->layout.n, own->layout.k);
  const WeightReader<PanelLayout> reader(own->layout, own->panels.data());
  for (int64_t n = 0; n < own->layout.n; ++n)
    for (int64_t k = 0; k < own->layout.k; ++k)
      own->numbers.row(n)[size_t(k)] = reader.value(n, k);
  return *own;
}

static int64_t panelsOfMatrix(lm::WeightType type) {
  return roundUp(type.rows(), kPanelRows) / kPanelRows;
}

Result<void> PanelWeights::row(lm::WeightOp weight, int64_t index, std::span<float> out) {
  const lm::WeightType type = weight.getType();
  const Base &base = baseOf(weight.getSymName(), type);
  int64_t row = 0;
  if (!type.isVector()) {
    const int64_t n = index % type.rows();
    row = base.rowOf(index / type.rows() * panelsOfMatrix(type) + n / kPanelRows, n % kPanelRows);
  }
  std::ranges::copy(base.numbers.row(row), out.begin());
  return {};
}

Result<Matrix> PanelWeights::multiply(lm::WeightOp weight, const Matrix &x, int64_t matrix) {
  const lm::WeightType type = weight.getType();
  const Base &base = baseOf(weight.getSymName(), type);
  Matrix products(x.rows, base.numbers.rows), y(x.rows, type.rows());
  multiplyRows(x, base.numbers.values.data(), products.columns, products.values.data(),
               products.columns);
  for (int64_t n = 0; n < y.columns; ++n) {
    const int64_t from = base.rowOf(matrix * panelsOfMatrix(type) + n / kPanelRows, n % kPanelRows);
    for (int64_t t = 0; t < x.rows; ++t)
      y.row(t)[size_t(n)] = products.row(t)[size_t(from)];
  }
  return y;
}

/// Returns a memory file that repeats `bytes` up to a multiple of the page size, or -1 on failure.
static int fileOf(std::span<const std::byte> bytes, int64_t &length) {
  const auto size = int64_t(bytes.size());
  length = size * (kPage / std::gcd(size, kPage));
  const int file = memfd_create("ingot-panels", MFD_CLOEXEC);
  for (int64_t written = 0; file >= 0 && written < length; written += size)
    if (write(file, bytes.data(), bytes.size()) != ssize_t(size)) {
      close(file);
      return -1;
    }
  return file;
}

/// Fills the range with repetitions of `unit`; returns false if the system provides no memory.
bool PanelWeights::repeat(const Mapping &mapping, std::span<const std::byte> unit) {
  int64_t length;
  const int file = fileOf(unit, length);
  const bool mapped = file >= 0 && mapping.repeat(file, length);
  if (file >= 0)
    close(file);
  return mapped;
}

/// Packs panels. CPUs read all matrices as panels. GPUs do so only for matrices that are multiplied by f32 rows.
bool PanelWeights::packPanels(const Base &base, llvm::StringRef name, lm::WeightType type,
                              const Mapping &mapping) const {
  if (!repeat(mapping, base.panels))
    return false;
  const int64_t of = panelsOfMatrix(type), panelBytes = base.layout.panelBytes();
  const int64_t last =
      type.rows() % kPanelRows; // rows of the last panel of each matrix; the rest of that panel is
                                // padding
  for (int64_t matrix = 0; last != 0 && matrix < type.matrices(); ++matrix) {
    const int64_t panel = (matrix + 1) * of - 1, like = panel % kBasePanels;
    const std::span<std::byte> out(mapping.address + panel * panelBytes, size_t(panelBytes));
    std::ranges::fill(out, std::byte{0});
    fillSeedPanels(seed, tensorOf(name),
                   panelLayout(type.getFormat(), like * kPanelRows + last, type.columns()), like,
                   out);
  }
  return true;
}

/// Packs tiles as tensor cores read them. A panel is two tiles, except that the last panel of a matrix with an odd
/// number of tiles is a single tile.
bool PanelWeights::packFragments(llvm::StringRef name, lm::WeightType type,
                                 const Mapping &mapping) const {
  constexpr int64_t kTiles = kPanelRows / kFragmentRows;
  const FragmentLayout own = kernel::fragmentLayoutOf(type);
  const FragmentLayout all =
      fragmentLayout(type.getFormat(), kBasePanels * kPanelRows, type.columns());
  std::vector<std::byte> tiles(size_t(all.bytes()));
  fillSeedFragments(seed, tensorOf(name), all, 0, tiles);
  const int64_t of = own.tilesOfMatrix(), tileBytes = own.tileBytes();
  const int64_t panels = panelsOfMatrix(type);
  auto likeOf = [&](int64_t matrix, int64_t tile) { // the tile of which this is a copy
    return (matrix * panels + tile / kTiles) % kBasePanels * kTiles + tile % kTiles;
  };
  if (of % kTiles == 0 || own.matrices == 1) {
    if (!repeat(mapping, tiles))
      return false;
  } else {
    if (mprotect(mapping.address, size_t(mapping.bytes), PROT_READ | PROT_WRITE) != 0)
      return false;
    for (int64_t matrix = 0; matrix < own.matrices; ++matrix)
      for (int64_t tile = 0; tile < of; ++tile)
        std::memcpy(mapping.address + (matrix * of + tile) * tileBytes,
                    tiles.data() + likeOf(matrix, tile) * tileBytes, size_t(tileBytes));
  }
  const int64_t last = type.rows() % kFragmentRows;
  for (int64_t matrix = 0; last != 0 && matrix < own.matrices; ++matrix) {
    const int64_t like = likeOf(matrix, of - 1);
    const std::span<std::byte> out(mapping.address + ((matrix + 1) * of - 1) * tileBytes,
                                   size_t(tileBytes));
    std::ranges::fill(out, std::byte{0});
    fillSeedFragments(seed, tensorOf(name),
                      fragmentLayout(type.getFormat(), like * kFragmentRows + last, type.columns()),
                      like, out);
  }
  return true;
}

const void *PanelWeights::packed(llvm::StringRef name, lm::WeightType type,
                                 llvm::ArrayRef<float> values) {
  std::unique_ptr<Mapping> &own = mappings[name];
  if (own)
    return own->address;
  own = std::make_unique<Mapping>(kernel::packedBytes(type) +
                                  kPage); // loads may reach beyond the last line
  if (!own->address)
    return nullptr;
  const Base *base = values.empty() ? &baseOf(name, type) : nullptr;
  if (type.isVector()) {
    if (mprotect(own->address, size_t(own->bytes), PROT_READ | PROT_WRITE) != 0)
      return nullptr;
    const float *from = base ? base->numbers.values.data() : values.data();
    std::memcpy(own->address, from, size_t(type.rows()) * sizeof(float));
    return own->address;
  }
  const bool isPacked = type.getLayout() == lm::WeightLayout::Fragment16
                            ? packFragments(name, type, *own)
                            : packPanels(*base, name, type, *own);
  return isPacked ? own->address : nullptr;
}
