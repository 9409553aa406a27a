//===- RoutesView.h - Addresses in a buffer of routes ------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"
#include "runtime/abi/Routes.h"

namespace ingot::codegen::cpu {

/// Addresses of the parts of a buffer of routes (runtime/abi/Routes.h) for the number of tokens in the batch.
struct RoutesView {
  mlir::Value expert, weight, row, token, count, segments;

  RoutesView(KernelBuilder &k, mlir::Value base, int64_t used) {
    mlir::Value pairs = k.mul(k.extent(kernel::Extent::Tokens), used);
    auto part = [&](int64_t words) { return k.at(base, k.mul(pairs, 4 * words)); };
    const RoutesLayout one{1}; // all offsets but the last are multiples of the number of pairs
    expert = part(one.expert() / 4), weight = part(one.weight() / 4), row = part(one.row() / 4);
    token = part(one.token() / 4), count = part(one.count() / 4);
    segments = k.at(count, one.segments() - one.count());
  }

  /// Loads an i32 of an array as an i64.
  static mlir::Value wordAt(KernelBuilder &k, mlir::Value array, mlir::Value index) {
    return k.widen(k.load(k.i32, k.at(array, k.mul(index, 4))), k.i64);
  }
};

} // namespace ingot::codegen::cpu
