//===- CheckModel.h - The reference interpreter in ingot-opt -----------------===//
#pragma once

namespace ingot::reference {

/// The pass lm-check{against=FILE} over a module with an lm.model: what E0428 and its like leave is run again with it.
void registerModelCheckPass();

} // namespace ingot::reference
