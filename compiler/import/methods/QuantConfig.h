//===- QuantConfig.h - The quantisation settings of a configuration --------===//
//
// This class gives the readers of quantised checkpoints (Quantized.h) access to quantization_config of config.json.
// Keys are relative to a scope: "bits", "config_groups.group_0.weights.num_bits". A key that a reader supports, or that
// does not affect the weights, is marked as used. Families refuse the other keys.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/CheckpointBuilder.h"

#include <initializer_list>

namespace ingot::import {

class QuantConfig {
public:
  /// `scope` is the prefix of every key, including its dot.
  QuantConfig(CheckpointBuilder &builder, std::string scope)
      : builder(builder), scope(std::move(scope)) {}

  /// Returns a view of one of `members`, with keys relative to it.
  QuantConfig in(const std::string &member) const { return {builder, scope + member}; }

  /// Returns the value, or null if the key is missing or its value is JSON null.
  const MetaValue *find(const std::string &key) const;
  const std::string *text(const std::string &key) const;
  bool has(const std::string &key) const { return find(key); }
  /// Returns the value, or `otherwise` if the key is missing. Errors: E0473: the value has another type.
  Result<int64_t> integerOr(const std::string &key, int64_t otherwise) const;
  Result<bool> booleanOr(const std::string &key, bool otherwise) const;
  /// Returns a list of integers, which is empty if the key is missing or has another type.
  std::vector<int64_t> integers(const std::string &key) const;

  /// Checks that a key is missing or has one of these values (E0473).
  Result<void> oneOf(const std::string &key, std::initializer_list<std::string_view> texts) const;
  /// Checks that a key is missing or has this value (E0473).
  Result<void> exactly(const std::string &key, bool wanted) const;
  Result<void> exactly(const std::string &key, int64_t wanted) const;
  /// Checks that a list or an object is missing or empty (E0473), because it is not supported.
  Result<void> absent(const std::string &key, std::string_view whatToDo) const;
  /// Marks keys that do not affect the weights; a trailing '*' matches any rest.
  void harmless(std::initializer_list<std::string_view> patterns) const;

  /// Checks the per-module settings in `object`, "extra_config" or "dynamic". Settings that leave a module unquantised
  /// ("bits": 16, or a name after "-:") are harmless and marked as used. Settings of `modules` are marked as well,
  /// because their reader uses them. Errors: E0473 for all other settings.
  Result<void> ownSettings(const std::string &object, const std::vector<std::string> &modules,
                           std::string_view whatToDo) const;

  /// Returns the prefixes of the members of an object ("config_groups"): "config_groups.group_0." and so on.
  std::vector<std::string> members(const std::string &object) const;

  /// Returns the error for a key that has an unsupported value (E0473).
  Error unsupported(const std::string &key, const std::string &found,
                    const std::string &supported) const;

private:
  CheckpointBuilder &builder;
  std::string scope;
};

} // namespace ingot::import
