//===- PlanDialect.h - C++ face of the plan dialect -----------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#include "dialects/plan/PlanDialect.h.inc"
#include "dialects/plan/PlanEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.h.inc"
