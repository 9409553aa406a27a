//===- PassOptions.h - Options of passes whose values are enumerations ------===//
//
// Values are written as keywords, as in lm-select-kernels{device=cuda kv=bf16}. Other words are refused before the pass
// runs. The keywords are defined for the type (wordsOf), because MLIR's list options ignore keywords that are defined
// for an option.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/DeviceKind.h"
#include "runtime/formats/KvFormat.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"

namespace ingot {

/// Whether kernels may round activations (fast) or use f32 throughout (exact).
enum class Precision : uint8_t { Fast, Exact };

/// The values of options that are not given.
inline constexpr auto kDefaultPrecision = Precision::Fast;
inline constexpr auto kDefaultDevice = DeviceKind::Cpu;
inline constexpr auto kDefaultKv = kCpuKv;

/// The values of an enumeration, each with its keyword.
template <typename Value> using Words = llvm::SmallVector<std::pair<llvm::StringRef, Value>>;

inline Words<Precision> wordsOf(Precision) {
  return {{"fast", Precision::Fast}, {"exact", Precision::Exact}};
}
inline Words<DeviceKind> wordsOf(DeviceKind) {
  Words<DeviceKind> words;
  for (const auto &[kind, name] : kDeviceKinds)
    words.emplace_back(name, kind);
  return words;
}
inline Words<KvFormat> wordsOf(KvFormat) {
  Words<KvFormat> words;
  for (const KvFormatInfo &format : kvFormats())
    words.emplace_back(format.name, format.id);
  return words;
}

/// Reads and prints the options of a type for which there is wordsOf.
template <typename Value> class WordParser : public llvm::cl::basic_parser<Value> {
public:
  using llvm::cl::basic_parser<Value>::basic_parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef given, Value &value) {
    std::string known;
    for (auto [word, one] : wordsOf(Value())) {
      if (word == given)
        return value = one, false;
      known += " " + word.str();
    }
    return option.error("expects one of" + known + ", got " + given);
  }
  static void print(llvm::raw_ostream &os, const Value &value) {
    for (auto [word, one] : wordsOf(Value()))
      if (one == value)
        os << word;
  }
  llvm::StringRef getValueName() const override { return "word"; }
  void printOptionDiff(const llvm::cl::Option &option, Value, const llvm::cl::OptionValue<Value> &,
                       size_t width) const {
    this->printOptionName(option, width);
  }
};

} // namespace ingot

namespace llvm::cl {
template <> class parser<ingot::Precision> : public ingot::WordParser<ingot::Precision> {
  using WordParser::WordParser;
};
template <> class parser<ingot::DeviceKind> : public ingot::WordParser<ingot::DeviceKind> {
  using WordParser::WordParser;
};
template <> class parser<ingot::KvFormat> : public ingot::WordParser<ingot::KvFormat> {
  using WordParser::WordParser;
};
} // namespace llvm::cl
