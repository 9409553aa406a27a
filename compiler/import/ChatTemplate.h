//===- ChatTemplate.h - The chat templates in a JSON file of a folder ------===//
#pragma once

#include "compiler/import/Checkpoint.h"

#include <string>
#include <vector>

namespace ingot::import {

/// The "chat_template" of tokenizer_config.json (or chat_template.json): a string, which is called "default", a
/// list of {"name", "template"}, or an object of names and templates. Of two with one name the last counts, as in
/// Python. None if the key is missing or null. Errors: E0214, E0275, E0290. Other keys are not looked at.
Result<std::vector<NamedTemplate>> chatTemplatesIn(const std::string &json,
                                                   const std::string &path);

} // namespace ingot::import
