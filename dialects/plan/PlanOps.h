//===- PlanOps.h - All ops of plan ----------------------------------------===//
// For who walks over all of them; others include the families that they name.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
