//===- TextFiles.h - The texts beside a folder's weights -------------------===//
#pragma once

#include "compiler/import/Checkpoint.h"
#include "compiler/import/Folder.h"

namespace ingot::import {

/// Tokenizer, chat templates and generation_config.json of a folder. Errors: those of Folder::text and of
/// chatTemplatesIn.
Result<TextFiles> readTextFiles(Folder &folder);

} // namespace ingot::import
