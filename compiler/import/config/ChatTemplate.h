//===- ChatTemplate.h - The chat templates in a JSON file of a folder ------===//
#pragma once

#include "compiler/import/checkpoint/Checkpoint.h"

#include <string>
#include <vector>

namespace ingot::import {

/// Reads the "chat_template" of tokenizer_config.json (or chat_template.json): a string, which gets the name
/// "default", a list of {"name", "template"}, or an object of names and templates. If a name occurs twice,
/// the last one counts, as in Python. Returns none if the key is missing or null. Errors: E0214, E0275,
/// E0290. Other keys are ignored.
Result<std::vector<NamedTemplate>> chatTemplatesIn(const std::string &json,
                                                   const std::string &path);

} // namespace ingot::import
