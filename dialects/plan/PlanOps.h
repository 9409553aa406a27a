//===- PlanOps.h - All ops of plan ----------------------------------------===//
// For code that handles all of them; other code includes the op families that it uses.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
