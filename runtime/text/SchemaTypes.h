//===- SchemaTypes.h - The value types that a JSON schema allows ----------===//
#pragma once

#include "runtime/text/ToolSet.h"

#include <simdjson.h>

namespace ingot::text {

/// Follows `$ref` within `root` (only "#/…"). Returns the schema itself if it has no reference, or if
/// the reference cannot be followed.
simdjson::dom::element resolved(simdjson::dom::element schema, simdjson::dom::element root);

/// Returns the ValueTypes that a schema allows by "type", "enum" and "const", and the union over
/// "anyOf" and "oneOf". Returns 0 if the schema does not restrict them.
uint8_t schemaTypes(simdjson::dom::element schema, simdjson::dom::element root);

/// Finds the schema of a property in "properties" (through $ref, anyOf, allOf), otherwise in
/// "additionalProperties". Returns false if there is none.
bool propertySchema(simdjson::dom::element schema, simdjson::dom::element root,
                    std::string_view name, simdjson::dom::element &found);

} // namespace ingot::text
