//===- SchemaTypes.h - What types a JSON schema allows --------------------===//
#pragma once

#include "runtime/text/ToolSet.h"

#include <simdjson.h>

namespace ingot::text {

/// Follows `$ref` within `root` ("#/…" alone); the schema itself where it has none, or none that
/// can be followed.
simdjson::dom::element resolved(simdjson::dom::element schema, simdjson::dom::element root);

/// ValueTypes that a schema allows: by "type", "enum", "const", and the union of "anyOf" and
/// "oneOf". 0: it does not say.
uint8_t schemaTypes(simdjson::dom::element schema, simdjson::dom::element root);

/// The schema of a property: by "properties" (through $ref, anyOf, allOf), else
/// "additionalProperties". False: there is none.
bool propertySchema(simdjson::dom::element schema, simdjson::dom::element root,
                    std::string_view name, simdjson::dom::element &found);

} // namespace ingot::text
