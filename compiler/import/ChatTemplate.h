//===- ChatTemplate.h - The chat template of a safetensors folder ---------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>

namespace ingot::import {

/// The "chat_template" of tokenizer_config.json (or chat_template.json): a string, or a
/// list of {"name", "template"} of which "default" counts (or the only one). Empty if the
/// key is missing or null. Errors: E0214, E0275, E0290. Other keys are not looked at.
Result<std::string> chatTemplateIn(const std::string &json, const std::string &path);

} // namespace ingot::import
