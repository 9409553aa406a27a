//===- Sample.h - The ops of the sample plugin ------------------------------===//
#pragma once

#include "dialects/lm/LmInterfaces.h"
#include "models/Family.h"

#include "SampleDialect.h.inc"
#define GET_OP_CLASSES
#include "Sample.h.inc"

namespace sample {
/// Returns the architecture "fading" (Fading.cpp).
ingot::models::Family fadingFamily();
} // namespace sample
