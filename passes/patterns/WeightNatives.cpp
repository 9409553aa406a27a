//===- WeightNatives.cpp - Weights made of rows of others -----------------===//
#include "passes/patterns/Natives.h"

using namespace ingot;

llvm::ArrayRef<patterns::Native> patterns::weightNatives() { return {}; }
