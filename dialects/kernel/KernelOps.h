//===- KernelOps.h - All ops of kernel ------------------------------------===//
// Only code that handles all ops includes this header; other code includes the op families that it uses.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/CausalConv.h"
#include "dialects/kernel/ops/Custom.h"
#include "dialects/kernel/ops/Dispatch.h"
#include "dialects/kernel/ops/Experts.h"
#include "dialects/kernel/ops/Fused.h"
#include "dialects/kernel/ops/Ids.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Region.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/kernel/ops/Rows.h"
#include "dialects/kernel/ops/Structure.h"
