//===- QuantConfig.h - What a configuration says of quantised weights ------===//
//
// quantization_config of config.json, as readers of quantised checkpoints (Quantized.h) ask for it. Keys are
// counted from their scope: "bits", "config_groups.group_0.weights.num_bits". A key that a reader understands,
// or that changes nothing about the weights, is marked as used; families refuse what is left.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/CheckpointBuilder.h"

#include <initializer_list>

namespace ingot::import {

class QuantConfig {
public:
  /// `scope`: what every key begins with, its dot included.
  QuantConfig(CheckpointBuilder &builder, std::string scope)
      : builder(builder), scope(std::move(scope)) {}

  /// One of `members`: keys are counted from there.
  QuantConfig in(const std::string &member) const { return {builder, scope + member}; }

  /// Null if it is missing or null.
  const MetaValue *find(const std::string &key) const;
  const std::string *text(const std::string &key) const;
  bool has(const std::string &key) const { return find(key); }
  /// Those that are there; E0473 if they are of another type.
  Result<int64_t> integerOr(const std::string &key, int64_t otherwise) const;
  Result<bool> booleanOr(const std::string &key, bool otherwise) const;
  /// Empty if it is missing, or no list of integers.
  std::vector<int64_t> integers(const std::string &key) const;

  /// A key that may be missing, and otherwise is one of these texts (E0473).
  Result<void> oneOf(const std::string &key, std::initializer_list<std::string_view> texts) const;
  /// A key that may be missing, and otherwise is this (E0473).
  Result<void> exactly(const std::string &key, bool wanted) const;
  Result<void> exactly(const std::string &key, int64_t wanted) const;
  /// A list or an object that must be missing or empty (E0473): nothing is made of it.
  Result<void> absent(const std::string &key, std::string_view whatToDo) const;
  /// Keys that change nothing about the weights; '*' at the end matches any rest.
  void harmless(std::initializer_list<std::string_view> patterns) const;

  /// Settings of single modules in `object`, "extra_config" or "dynamic": those that leave a module as it was ("bits": 16, or
  /// a name after "-:") change nothing here and are marked as used; so are those of `modules`, which their reader looks up.
  /// E0473: others.
  Result<void> ownSettings(const std::string &object, const std::vector<std::string> &modules,
                           std::string_view whatToDo) const;

  /// The parts of an object ("config_groups"): "config_groups.group_0." and so on.
  std::vector<std::string> members(const std::string &object) const;

  /// E0473, for a key whose value means something that is not read.
  Error unsupported(const std::string &key, const std::string &found,
                    const std::string &supported) const;

private:
  CheckpointBuilder &builder;
  std::string scope;
};

} // namespace ingot::import
