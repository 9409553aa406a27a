//===- ConfigKeysTest.cpp - Every key of a configuration counts -----------===//
//
// One key of a tiny checkpoint's configuration is changed at a time. The import must then refuse it or give
// another model: a key that changes nothing would be ignored silently. Keys that may be ignored are listed in
// keys_without_effect.txt, for all families or for one, after their meaning has been checked by hand.
//===----------------------------------------------------------------------===//
#include "tests/SourceDir.h"
#include "tests/models/TinyCheckpoints.h"

#include "models/Family.h"

#include "compiler/import/OpenCheckpoint.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

using namespace ingot;
using import::MetaArray;
using import::MetaValue;

namespace {

/// Returns the model as text, or nothing if it is refused.
std::string imported(const import::Checkpoint &checkpoint) {
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic &) {});
  Error why;
  auto module = models::importModel(context, checkpoint, why);
  std::string text;
  if (mlir::succeeded(module))
    llvm::raw_string_ostream(text) << **module;
  return text;
}

/// Returns other values of the same type, close to the original.
std::vector<MetaValue> othersThan(const MetaValue &value) {
  if (const bool *flag = std::get_if<bool>(&value))
    return {!*flag};
  if (const int64_t *number = std::get_if<int64_t>(&value))
    return {*number * 2 + 1};
  if (const double *number = std::get_if<double>(&value))
    return {*number * 1.5 + 0.25};
  if (std::holds_alternative<std::string>(value))
    return {std::string("something_else")};
  const MetaArray *array = std::get_if<MetaArray>(&value);
  if (!array)
    return {}; // null: its meaning differs from key to key
  if (const auto *texts = std::get_if<std::vector<std::string>>(array))
    return {MetaArray(std::vector<std::string>(texts->size(), "something_else"))};
  if (const auto *flags = std::get_if<std::vector<bool>>(array)) {
    std::vector<bool> other = *flags;
    other.flip();
    return {MetaArray(other)};
  }
  if (const auto *numbers = std::get_if<std::vector<double>>(array)) {
    std::vector<double> other = *numbers;
    for (double &number : other)
      number = number * 1.5 + 0.25;
    return {MetaArray(other)};
  }
  std::vector<int64_t> other = std::get<std::vector<int64_t>>(*array);
  for (int64_t &number : other)
    number = number ? 0 : 1;
  return {MetaArray(other)};
}

std::set<std::string> keysWithoutEffect() {
  std::ifstream file(test::sourceDir() + "/tests/models/keys_without_effect.txt");
  std::set<std::string> keys;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#')
      keys.insert(line);
  return keys;
}

} // namespace

TEST(ConfigKeys, EachIsUsedOrRefusedOrKnownToBeHarmless) {
  const std::set<std::string> harmless = keysWithoutEffect();
  ASSERT_FALSE(harmless.empty());
  std::set<std::string> silent, met;
  for (const std::string &name : tests::tinyNames()) {
    auto opened = import::openCheckpoint(tests::tinyCheckpoint(name).model);
    ASSERT_TRUE(opened) << opened.error().format();
    const import::Checkpoint &original = **opened; // its record of used keys stays empty
    const std::string family = models::findFamily(original.architecture)->name.str();
    const std::string before = imported(import::Checkpoint(original));
    ASSERT_FALSE(before.empty()) << name;
    for (const auto &[key, value] : original.metadata) {
      if (key.starts_with("general.") || key.starts_with("tokenizer."))
        continue; // keys of text processing
      for (const MetaValue &other : othersThan(value)) {
        import::Checkpoint changed = original;
        changed.metadata[key] = other;
        const bool same = imported(changed) == before;
        const size_t dot = original.container == import::Container::Gguf ? key.find('.') : 0;
        const std::string shown = dot ? "GGUF" + key.substr(dot) : key,
                          ofFamily = family + ": " + shown;
        met.insert({shown, ofFamily});
        if (same && !harmless.contains(shown) && !harmless.contains(ofFamily))
          silent.insert(ofFamily + " (" + name + ")");
      }
    }
  }
  EXPECT_TRUE(silent.empty()) << "keys that change nothing and are not refused:\n"
                              << [&] {
                                   std::string list;
                                   for (const std::string &key : silent)
                                     list += "  " + key + "\n";
                                   return list;
                                 }();
  for (const std::string &key : harmless)
    EXPECT_TRUE(met.contains(key)) << key << " is listed, and no tiny checkpoint has it";
}
