//===- CheckKernels.cpp - Checks an engine's kernels against naive ones, at real shapes ----===//
//
//   check-kernels ENGINE --reference FILE [--device cuda|cuda-emulator] [--tokens 1,2,…]
//                 [--contexts 1,255,…] [--only KERNEL]… [--limit SECONDS]
//
// Runs each projection of the engine with the weights of its first layer over random rows, and each attention
// over random pages. FILE has the naive kernels (MakeReference.cpp), which run on the same device. The
// engine's results must equal theirs within the error that its arithmetic allows. Outputs are filled with NaN
// before, and the memory after the last row must stay NaN. Prints a line of JSON for each kernel and size,
// from child processes (Trials.h):
//
//   {"kernel": "qkv_0", "variant": "qkv_0_t8", "tokens": 7, "context": 0, "worst": 3e-7, "limit": 2e-5, "ok": true}
//
// worst and limit are relative to Σ |w x| (for attention, to Σ p |v|), beyond the rounding of the stored number. The
// exit status is 1 if an error exceeds its limit or a result was lost, 3 if the files do not match, and 4 without a
// GPU.
//===----------------------------------------------------------------------===//
#include "runtime/abi/Routes.h"
#include "runtime/device/cuda/EmulatorDriver.h"
#include "runtime/device/cuda/LibcudaDriver.h"
#include "runtime/formats/E4M3.h"
#include "runtime/formats/FragmentLayout.h"
#include "runtime/json/JsonText.h"
#include "tests/gpu/KernelUnderTest.h"
#include "tests/gpu/Trials.h"

#include <CLI/CLI.hpp>

#include <fstream>
#include <iterator>

using namespace ingot;
using namespace ingot::cuda;
using namespace ingot::cuda::check;

namespace {

/// The limit is relative to Σ |w x|. f32 sums of exact products are off by at most 2^-23 for each of some 200
/// instructions of a part.
constexpr double kProjectionLimit = 2e-5;
/// Hopper adds fp8 products with 13 bits of mantissa, truncated, four instructions per group.
constexpr double kFp8Limit = 1e-3;
/// The limit is relative to Σ p |v|. It covers the rounding of probabilities to bf16 (2^-9), and the errors of
/// exp2.approx and of f32 sums.
constexpr double kAttentionLimit = 4e-3;

/// Steps with more results than this are skipped, such as logits of thousands of rows, which no caller needs.
constexpr uint64_t kMostResults = 1 << 26;
bool isChecked(const reference::Projection &p, int64_t tokens) {
  return std::ranges::all_of(*p.outputs(), [&](const reference::Rows *rows) {
    return uint64_t(tokens) * rows->n() <= kMostResults;
  });
}

struct Options {
  std::vector<int64_t> tokens{1, 2, 7, 8, 9, 17, 33, 64, 65, 130, 300, 2048};
  std::vector<int64_t> contexts{1, 255, 257, 8192, 33000};
  bool emulated = false, plant = false;
};

/// Runs a kernel at all sizes and reports each result.
class Checker {
public:
  Checker(Driver &driver, EngineOnDevice &engine, const Options &options,
          const reference::Kernel &naive)
      : kernel(driver, engine, naive), options(options), naive(naive) {}

  Result<void> run(const test::Print &print) {
    if (auto ok = kernel.open(); !ok)
      return ok;
    if (naive.projection()) {
      for (int64_t tokens : options.tokens)
        if (uint64_t(tokens) >= naive.least() && uint64_t(tokens) <= naive.most() &&
            isChecked(*naive.projection(), tokens))
          if (auto ok = project(*naive.projection(), tokens, print); !ok)
            return ok;
      return {};
    }
    for (int64_t context : options.contexts) {
      std::vector<std::vector<std::pair<int64_t, int64_t>>> cases(4); // first position, tokens
      cases[0] = {{context - 1, 1}};
      for (int64_t i = 1; i <= 9; ++i) {
        if (i < 9)
          cases[1].push_back({(context + i - 1) / i - 1, 1});
        cases[2].push_back({(context + i - 1) / i - 1, 1});
      }
      int64_t chunk = std::min<int64_t>(context, 40);
      cases[3] = {{context - chunk, chunk}, {context / 2, 1}};
      for (const auto &sequences : cases)
        if (auto ok = attend(*naive.attention(), context, sequences, print); !ok)
          return ok;
    }
    return {};
  }

private:
  using Rows = reference::Rows;
  using Results = KernelUnderTest::Results;

  void report(const test::Print &print, const fb::Variant &variant, int64_t tokens, int64_t context,
              const Worst &worst) {
    bool ok = worst.value <= worst.limit;
    runtime::JsonText json;
    json.open('{').key("kernel").value(naive.name()->str());
    json.key("variant").value(variant.symbol()->str());
    json.key("tokens").value(tokens).key("context").value(context);
    json.key("worst").value(worst.value).key("limit").value(worst.limit);
    json.key("ok").value(ok).close();
    print(!ok                ? test::Found::Wrong
          : worst.value == 0 ? test::Found::Equal
                             : test::Found::Near,
          json.text());
  }

  /// Returns whether the bytes after the written rows are unchanged.
  static bool untouched(const Bytes &bytes, uint64_t from, uint8_t as = 0xff) {
    return std::all_of(bytes.begin() + ptrdiff_t(std::min<uint64_t>(from, bytes.size())),
                       bytes.end(), [&](uint8_t byte) { return byte == as; });
  }

  //===--------------------------------------------------------------------===//
  // Projections
  //===--------------------------------------------------------------------===//

  /// Returns a step of sequences with one token each or, for many tokens, of prompts. Pages are assigned in reverse
  /// order.
  static Step stepOf(int64_t tokens) {
    Step step;
    step.stride = tokens <= 64 ? 2 : (tokens + 31) / 32 + 1;
    if (tokens <= 64)
      for (int64_t t = 0; t < tokens; ++t)
        step.add(int32_t(t), (7 * t + 30) % 64, 1);
    else
      step.add(0, 0, tokens);
    int64_t sequences = tokens <= 64 ? tokens : 1;
    for (int64_t i = sequences * step.stride; i-- > 0;)
      step.blockTable.push_back(int32_t(i));
    for (int64_t r = 0; r < tokens; ++r)
      step.rowTokens.push_back(int32_t((7 * r + 2) % tokens));
    return step;
  }

  Result<void> project(const reference::Projection &p, int64_t tokens, const test::Print &print) {
    if (options.plant) // flips the sign of a weight or the highest bit of a code
      kernel.plant = {p.weights()->Get(0), 1, 0x80};
    Step step = stepOf(tokens);
    BatchView view = step.view(tokens);
    if (auto ok = kernel.sendBatch(view); !ok)
      return ok;
    StepShape shape = StepShape::of(view, kernel.sharing());
    shape.rows = uint64_t(tokens);
    // Uploads all inputs.
    const int64_t count = tokens * p.used(); // rows of x and of y
    if (p.routes() >= 0)
      if (auto ok = kernel.put(uint32_t(p.routes()), routesOf(p, tokens)); !ok)
        return ok;
    const int64_t rowsOfX = count + 70; // boxes of copies extend past the step's rows
    Bytes x = randomRows(*p.x(), rowsOfX, 1);
    if (auto ok = p.computes() ? Result<void>() : kernel.put(p.x()->operand(), x); !ok)
      return ok;
    std::map<std::pair<uint32_t, uint32_t>, Bytes> written;
    for (const Rows *rows : *p.outputs()) {
      if (p.kv() >= 0 && rows != p.outputs()->Get(0))
        continue; // written to the pool
      written[kernel.keyOf(rows->operand())] = Bytes(kernel.bytesOf(*rows, count), 0xff);
      if (auto ok = kernel.put(rows->operand(), written[kernel.keyOf(rows->operand())]); !ok)
        return ok;
    }
    std::map<uint32_t, Bytes> inputs;
    for (unsigned i = 0; p.inputs() && i < p.inputs()->size(); ++i) {
      const Rows &rows = *p.inputs()->Get(i);
      Bytes &bytes = inputs[rows.operand()] = randomRows(rows, count, 2 + i);
      bytes.resize(kernel.bytesOf(rows, count), 0xff);
      if (written.contains(kernel.keyOf(rows.operand()))) // in place
        written[kernel.keyOf(rows.operand())] = bytes;
      if (auto ok = kernel.put(rows.operand(), bytes); !ok)
        return ok;
    }
    if (p.keys() >= 0)
      if (auto ok = kernel.put(uint32_t(p.keys()), Bytes(uint64_t(tokens + 3) * 8)); !ok)
        return ok;
    uint64_t pageBytes = 0;
    if (p.kv() >= 0) {
      pageBytes = kernel.pageBytes();
      if (auto ok = kernel.put(uint32_t(p.kv()), Bytes(pageBytes * step.blockTable.size(), 0xee));
          !ok)
        return ok;
    }
    // Kernels that read fp8 rows get the fp8 rows of x.
    const fb::Variant &variant = *kernel.variantsOf(shape).front();
    const bool fp8 = variant.symbol()->string_view().ends_with("_wgmma_fp8");
    const bool appends = p.kv() >= 0;
    if (p.computes()) {
      auto made = kernel.makeX(x.size(), tokens);
      if (!made)
        return made.error();
      x = std::move(*made);
    }
    if (p.x_fp8() >= 0)
      if (auto ok = kernel.put(uint32_t(p.x_fp8()), fp8Of(x, *p.x(), rowsOfX)); !ok)
        return ok;

    Worst worst{fp8 ? kFp8Limit : kProjectionLimit};
    std::vector<Results> want;
    for (unsigned s = 0; s < p.outputs()->size(); ++s) {
      uint32_t n = p.outputs()->Get(s)->n();
      auto results = kernel.reference((fp8 ? "_fp8_" : "_") + std::to_string(s), (n + 127) / 128,
                                      uint32_t(count), 128, uint64_t(count) * n, worst.limit);
      if (!results)
        return results.error();
      want.push_back(std::move(*results));
    }
    if (auto ok = kernel.launch(variant, shape, rowsOfX); !ok)
      return ok;

    for (unsigned s = 0; s < p.outputs()->size(); ++s) {
      const Rows &rows = *p.outputs()->Get(s);
      if (appends) {
        rotate(p, s, tokens, inputs, want[s]);
        if (s > 0)
          continue; // written to the pool
      }
      auto got = kernel.get(kernel.memoryOf(rows.operand()).address(), kernel.bytesOf(rows, count));
      if (!got)
        return got.error();
      for (int64_t t = 0; t < count; ++t) {
        for (int64_t i = 0; i < rows.n(); ++i)
          worst.add(elementOf(*got, rows, t, i), want[s].value[size_t(t * rows.n() + i)],
                    want[s].allowed[size_t(t * rows.n() + i)], rows.bf16());
        for (int64_t i = rows.n(); i < rows.stride(); ++i)
          worst.must(elementOf(*got, rows, t, i) == 0);
      }
      worst.must(untouched(*got, uint64_t(count) * rows.stride() * (rows.bf16() ? 2 : 4)));
      if (p.keys() >= 0)
        if (auto ok = checkKeys(p, rows, *got, tokens, worst); !ok)
          return ok;
    }
    if (appends)
      if (auto ok = checkPool(p, step, pageBytes, want, worst); !ok)
        return ok;
    report(print, variant, tokens, 0, worst);
    return {};
  }

  /// Sends token t to experts 3t, 3t + 1, … in turn, and every fifth token to the first experts. So some experts have
  /// many rows and some have none (abi/Routes.h; fields that only other kernels read are omitted).
  static Bytes routesOf(const reference::Projection &p, int64_t tokens) {
    const int64_t used = p.used(), experts = p.experts();
    std::vector<int64_t> rows(size_t(experts), 0); // per expert
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t i = 0; i < used; ++i)
        ++rows[size_t((t % 5 ? 3 * t + i : i) % experts)];
    const RoutesLayout layout{tokens * used};
    Bytes bytes(size_t(tokens * routesBytes(used)), 0xff);
    int32_t count = 0, first = 0;
    for (int64_t e = 0; e < experts; ++e) {
      if (!rows[size_t(e)])
        continue;
      const RouteSegment segment{int32_t(e), first, first + int32_t(rows[size_t(e)])};
      std::memcpy(&bytes[size_t(layout.segments()) + sizeof segment * size_t(count++)], &segment,
                  sizeof segment);
      first = segment.end;
    }
    std::memcpy(&bytes[size_t(layout.count())], &count, sizeof count);
    return bytes;
  }

  /// Converts to fp8 rows as in FragmentLayout.h.
  static Bytes fp8Of(const Bytes &x, const Rows &rows, int64_t count) {
    const int64_t k = rows.n(), codes = roundUp(k, 128), stride = fp8RowBytes(k);
    Bytes bytes(size_t(count * stride));
    for (int64_t t = 0; t < count; ++t)
      for (int64_t g = 0; g < codes; g += 128) {
        auto at = [&](int64_t i) { return i < k ? elementOf(x, rows, t, i) : 0.0f; };
        float largest = 0;
        for (int64_t i = g; i < g + 128; ++i)
          largest = std::max(largest, std::abs(at(i)));
        float scale = largest / 448, inverse = largest != 0 ? 448 / largest : 0;
        for (int64_t i = g; i < g + 128; ++i)
          bytes[size_t(t * stride + i / 16 * 16 + fp8Slot(i % 16))] = e4m3FromF32(at(i) * inverse);
        std::memcpy(&bytes[size_t(t * stride + codes + g / 128 * 4)], &scale, 4);
      }
    return bytes;
  }

  /// Applies rope_append to q and k.
  void rotate(const reference::Projection &p, unsigned segment, int64_t tokens,
              std::map<uint32_t, Bytes> &inputs, Results &of) const {
    if (segment > 1 || p.table() < 0)
      return;
    const Rows *table = nullptr;
    for (const Rows *rows : *p.inputs())
      if (rows->operand() == uint32_t(p.table()))
        table = rows;
    const int64_t n = p.outputs()->Get(segment)->n(), half = p.rotary() / 2;
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t head = 0; head < n / p.head_dim(); ++head)
        for (int64_t i = 0; i < half; ++i) {
          size_t base = size_t(t * n + head * p.head_dim());
          size_t a = base + size_t(p.interleaved() ? 2 * i : i),
                 b = base + size_t(p.interleaved() ? 2 * i + 1 : i + half);
          double cosine = elementOf(inputs[table->operand()], *table, t, i),
                 sine = elementOf(inputs[table->operand()], *table, t, half + i);
          double low = of.value[a], high = of.value[b], lowBy = of.allowed[a],
                 highBy = of.allowed[b];
          of.value[a] = float(low * cosine - high * sine);
          of.value[b] = float(high * cosine + low * sine);
          // (The f32 products are both rounded.)
          double rounded = 1e-7 * (std::abs(low) + std::abs(high));
          of.allowed[a] = float(lowBy * std::abs(cosine) + highBy * std::abs(sine) + rounded);
          of.allowed[b] = float(highBy * std::abs(cosine) + lowBy * std::abs(sine) + rounded);
        }
  }

  /// Checks that k and v are at their places and nothing was written anywhere else.
  Result<void> checkPool(const reference::Projection &p, const Step &step, uint64_t pageBytes,
                         const std::vector<Results> &want, Worst &worst) {
    auto got = kernel.get(kernel.memoryOf(uint32_t(p.kv())).address(),
                          kernel.memoryOf(uint32_t(p.kv())).size());
    if (!got)
      return got.error();
    const int64_t n = p.kv_heads() * int64_t(p.head_dim());
    for (int64_t t = 0; t < step.tokens(); ++t) {
      int64_t position = step.positions[size_t(t)];
      int32_t page = step.blockTable[size_t(step.sequenceOf[size_t(t)] * step.stride +
                                            position / kPageTokens)];
      for (unsigned s = 1; s < 3; ++s)
        for (int64_t i = 0; i < n; ++i) {
          int64_t vector = ((s == 2 ? p.kv_heads() : 0) + i / p.head_dim()) * kPageTokens +
                           position % kPageTokens;
          size_t at =
              size_t(page) * pageBytes + size_t(vector * p.head_dim() + i % p.head_dim()) * 2;
          uint16_t bits;
          std::memcpy(&bits, &(*got)[at], 2);
          worst.add(fromBf16(bits), want[s].value[size_t(t * n + i)],
                    want[s].allowed[size_t(t * n + i)], /*bf16=*/true);
          (*got)[at] = (*got)[at + 1] = 0xee;
        }
    }
    worst.must(untouched(*got, 0, 0xee));
    return {};
  }

  /// Checks the keys against argmax_key of sample.cuh over the row's own logits.
  Result<void> checkKeys(const reference::Projection &p, const Rows &rows, const Bytes &logits,
                         int64_t tokens, Worst &worst) {
    auto got = kernel.get(kernel.memoryOf(uint32_t(p.keys())).address(), uint64_t(tokens + 3) * 8);
    if (!got)
      return got.error();
    for (int64_t t = 0; t < tokens + 3; ++t) {
      uint64_t want = 0, is;
      for (int64_t i = 0; i < rows.n() && t < tokens; ++i) {
        float logit = elementOf(logits, rows, t, i) + 0.0f;
        uint32_t bits;
        std::memcpy(&bits, &logit, 4);
        bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
        want = std::max(want, uint64_t(bits) << 32 | uint32_t(~uint32_t(i)));
      }
      std::memcpy(&is, &(*got)[size_t(t) * 8], 8);
      worst.must(is == want);
    }
    return {};
  }

  //===--------------------------------------------------------------------===//
  // Attention
  //===--------------------------------------------------------------------===//

  /// Runs the last tokens of each sequence. All sequences have the same pages, each in a different
  /// order.
  Result<void> attend(const reference::Attention &a, int64_t context,
                      const std::vector<std::pair<int64_t, int64_t>> &sequences,
                      const test::Print &print) {
    Step step;
    step.stride = (context + kPageTokens - 1) / kPageTokens;
    for (size_t s = 0; s < sequences.size(); ++s) {
      step.add(int32_t(s), sequences[s].first, sequences[s].second);
      for (int64_t i = 0; i < step.stride; ++i)
        step.blockTable.push_back(int32_t((step.stride - 1 - i + int64_t(s)) % step.stride));
    }
    const int64_t tokens = step.tokens();
    BatchView view = step.view(0);
    if (auto ok = kernel.sendBatch(view); !ok)
      return ok;
    uint64_t pageBytes = kernel.pageBytes();
    if (poolOf != context)
      if (auto ok = kernel.put(a.kv(), poolBytes(a, pageBytes * uint64_t(step.stride), pageBytes));
          !ok)
        return ok;
    poolOf = context;
    // --plant changes the exponent of V of the first token, within its view; for fp8 codes, the
    // exponent of their scale.
    const uint64_t vector =
        uint64_t(a.kv_heads()) * kPageTokens + uint64_t(sequences[0].first % kPageTokens);
    if (options.plant)
      kernel.plant = {
          a.kv(),
          uint64_t(step.blockTable[size_t(sequences[0].first / kPageTokens)]) * pageBytes +
              (a.fp8() ? 2ull * a.kv_heads() * kPageTokens * a.head_dim() + vector * 4 + 3
                       : vector * a.head_dim() * 2 + 1),
          0x40};
    if (auto ok = kernel.put(a.q()->operand(), randomRows(*a.q(), tokens, uint64_t(context))); !ok)
      return ok;
    if (auto ok =
            kernel.put(a.output()->operand(), Bytes(kernel.bytesOf(*a.output(), tokens), 0xff));
        !ok)
      return ok;
    const uint32_t n = a.output()->n();
    auto want = kernel.reference("", a.heads(), uint32_t(tokens), 32, uint64_t(tokens) * n,
                                 kAttentionLimit);
    if (!want)
      return want.error();
    const StepShape shape = StepShape::of(view, kernel.sharing());
    const std::vector<const fb::Variant *> variants = kernel.variantsOf(shape);
    for (const fb::Variant *variant : variants)
      if (auto ok = kernel.launch(*variant, shape, 0); !ok)
        return ok;
    auto got = kernel.get(kernel.memoryOf(a.output()->operand()).address(),
                          kernel.bytesOf(*a.output(), tokens));
    if (!got)
      return got.error();
    Worst worst{kAttentionLimit};
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t i = 0; i < n; ++i)
        worst.add(elementOf(*got, *a.output(), t, i), want->value[size_t(t * n + i)],
                  want->allowed[size_t(t * n + i)], a.output()->bf16());
      for (int64_t i = n; i < a.output()->stride(); ++i)
        worst.must(elementOf(*got, *a.output(), t, i) == 0);
    }
    worst.must(
        untouched(*got, uint64_t(tokens) * a.output()->stride() * (a.output()->bf16() ? 2 : 4)));
    report(print, *variants.front(), tokens, context, worst);
    return {};
  }

  static Bytes poolBytes(const reference::Attention &a, uint64_t bytes, uint64_t pageBytes) {
    Numbers random(7);
    Bytes pool(bytes);
    const uint64_t vectors = 2ull * a.kv_heads() * kPageTokens, elements = vectors * a.head_dim();
    for (uint64_t page = 0; page < bytes; page += pageBytes) {
      for (uint64_t i = 0; i < elements; ++i) {
        float value = random.uniform() * (i < elements / 2 ? 2 : 1);
        uint16_t bits = toBf16(value);
        if (a.fp8())
          pool[page + i] = e4m3FromF32(value * 448);
        else
          std::memcpy(&pool[page + 2 * i], &bits, 2);
      }
      for (uint64_t i = 0; a.fp8() && i < vectors; ++i) {
        float scale = (1.5f + random.uniform()) / 448;
        std::memcpy(&pool[page + elements + 4 * i], &scale, 4);
      }
    }
    return pool;
  }

  KernelUnderTest kernel;
  const Options &options;
  const reference::Kernel &naive;
  int64_t poolOf = 0; ///< the context that the pool was filled for
};

int fail(const Error &error) {
  std::fputs(error.format().c_str(), stderr);
  return int(error.exit);
}

} // namespace

int main(int count, char **arguments) {
  CLI::App app("Runs an engine's kernels beside naive ones and compares.");
  std::string path, naive, device = "cuda";
  std::vector<std::string> only;
  Options options;
  test::Trials trials;
  trials.limit = 60;
  app.add_option("ENGINE", path)->required();
  app.add_option("--reference", naive, "what make-reference wrote for it")->required();
  app.add_option("--device", device)->check(CLI::IsMember({"cuda", "cuda-emulator"}));
  app.add_option("--tokens", options.tokens, "of a step, for projections")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--contexts", options.contexts, "positions, for attention")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--only", only, "this kernel alone (may be repeated)")->allow_extra_args(false);
  app.add_option("--limit", trials.limit, "seconds that a kernel may take")->capture_default_str();
  app.add_flag("--plant", options.plant,
               "change a bit under each of the engine's kernels: all must be found");
  CLI11_PARSE(app, count, arguments);
  options.emulated = device != "cuda";

  std::ifstream stream(naive, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  if (!reference::VerifyReferencesBuffer(verifier))
    return fail({ExitCode::File, "E0397", naive + " holds no reference", "",
                 "make it again: ./dev gpu-bundle"});
  const reference::References &references = *reference::GetReferences(bytes.data());
  auto file = runtime::EngineFile::open(path);
  if (!file)
    return fail(file.error());

  std::unique_ptr<Driver> driver; // created in a child
  std::unique_ptr<EngineOnDevice> engine;
  trials.kind = "kernel";
  trials.open = [&]() -> Result<std::string> {
    EmulatorSetup setup;
    setup.workers = 2;
    auto opened = options.emulated ? openEmulator(setup) : openLibcuda();
    if (!opened)
      return opened.error();
    driver = std::move(*opened);
    auto picked = pickGpuCode((*file)->table(), driver->device(), options.emulated);
    if (!picked)
      return picked.error();
    engine = std::make_unique<EngineOnDevice>(*driver, **file, *picked);
    return driver->device().name;
  };
  uint64_t leftOut = 0;
  for (const reference::Kernel *kernel : *references.kernels()) {
    std::string name = kernel->name()->str();
    if (!only.empty() && std::ranges::find(only, name) == only.end())
      continue;
    uint64_t checks = 4 * options.contexts.size();
    if (const reference::Projection *p = kernel->projection()) {
      checks = uint64_t(std::ranges::count_if(
          options.tokens, [&](int64_t tokens) { return isChecked(*p, tokens); }));
      leftOut += options.tokens.size() - checks;
    }
    trials.all.push_back(
        {name, checks, [&options, &driver, &engine, kernel](const test::Print &print) {
           return Checker(*driver, *engine, options, *kernel).run(print);
         }});
  }
  auto tally = test::runTrials(trials);
  if (!tally)
    return fail(tally.error());
  runtime::JsonText json;
  json.open('{').key("summary").open('{').key("device").value(tally->device);
  json.key("engine").value(path.substr(path.rfind('/') + 1));
  json.key("kernels").value(trials.all.size()).key("checks").value(tally->launches);
  json.key("failed").value(tally->wrong).key("lost_kernels").value(tally->lost);
  json.key("left_out").value(leftOut).close().close();
  std::printf("%s\n", json.text().c_str());
  return tally->wrong != 0 || tally->lost != 0;
}
