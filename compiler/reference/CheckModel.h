//===- CheckModel.h - The reference interpreter in ingot-opt -----------------===//
#pragma once

namespace ingot::reference {

/// Registers the pass lm-check{against=FILE} over a module with an lm.model. It repeats the check on the files that
/// E0428 and similar errors leave behind.
void registerModelCheckPass();

} // namespace ingot::reference
