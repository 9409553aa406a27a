//===- PlanOps.h - All ops of plan ----------------------------------------===//
// Only code that handles all ops includes this header; other code includes the op families that it uses.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
