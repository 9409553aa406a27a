//===- TextFiles.h - The text files next to a folder's weights -------------===//
#pragma once

#include "compiler/import/checkpoint/Checkpoint.h"
#include "compiler/import/files/Folder.h"

namespace ingot::import {

/// Reads the tokenizer, chat templates and generation_config.json of a folder. Errors: all errors of Folder::text and
/// chatTemplatesIn.
Result<TextFiles> readTextFiles(Folder &folder);

} // namespace ingot::import
