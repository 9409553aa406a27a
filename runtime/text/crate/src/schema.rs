//! JSON schemas on their way to llguidance: what it does not support is refused here, by name and with
//! its place, and the whitespace of answers is fixed.
//!
//! Whitespace: nothing, one space, or a new line with up to 32 spaces or tabs, at the places where JSON
//! allows any. Small models that may write as much as they like sometimes write nothing else.

use crate::grammar::one_line;
use serde_json::{json, Map, Value};
use std::collections::HashSet;

const WHITESPACE: &str = r"\x20|\x0A[\x20\x09]{0,32}";

/// Keywords of the standard that constrain an answer and that the library does not know.
const UNSUPPORTED: [&str; 19] = [
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "propertyNames",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "$anchor",
];
const TYPES: [&str; 7] = ["null", "boolean", "number", "integer", "string", "array", "object"];
const FORMATS: [&str; 11] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri", "unknown"];

fn with_options(mut schema: Map<String, Value>) -> Value {
    // oneOf as anyOf: that no second alternative matches too cannot be said with a grammar.
    let options = json!({ "whitespace_pattern": WHITESPACE, "coerce_one_of": true });
    schema.insert("x-guidance".into(), options);
    Value::Object(schema)
}

/// Of any JSON object.
pub fn object() -> Value {
    with_options(json!({ "type": "object" }).as_object().cloned().unwrap_or_default())
}

pub fn read(source: &str) -> Result<Value, String> {
    let schema: Value = serde_json::from_str(source).map_err(|e| format!("not JSON: {e}"))?;
    prepare(schema)
}

fn prepare(schema: Value) -> Result<Value, String> {
    Walk { root: &schema, refs: HashSet::new() }.schema(&schema, "#")?;
    match schema {
        Value::Object(map) if map.contains_key("x-guidance") => {
            Err("at #: \"x-guidance\" is set by Ingot and may not be given".into())
        }
        Value::Object(map) => Ok(with_options(map)),
        Value::Bool(true) => Ok(with_options(Map::new())),
        _ => Err("at #: the schema false allows nothing".into()),
    }
}

/// Gives the `%json { … }` blocks of a Lark grammar the same treatment.
pub fn in_lark(source: &str) -> Result<String, String> {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("%json") {
        let (before, block) = rest.split_at(at + "%json".len());
        out += before;
        let mut values = serde_json::Deserializer::from_str(block).into_iter::<Value>();
        match values.next() {
            Some(Ok(schema)) => {
                let end = values.byte_offset();
                out += &format!(" {}", prepare(schema).map_err(|e| format!("in %json: {e}"))?);
                rest = &block[end..];
            }
            _ => rest = block, // in a string or a comment; or an error that the library places better
        }
    }
    Ok(out + rest)
}

struct Walk<'a> {
    root: &'a Value,
    refs: HashSet<&'a str>,
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

impl<'a> Walk<'a> {
    fn members(&mut self, value: &'a Value, place: &str) -> Result<(), String> {
        let map = value.as_object().ok_or_else(|| format!("at {place}: expected an object of schemas"))?;
        map.iter().try_for_each(|(key, schema)| self.schema(schema, &format!("{place}/{}", escaped(key))))
    }

    fn items(&mut self, value: &'a Value, place: &str) -> Result<(), String> {
        let list = value.as_array().ok_or_else(|| format!("at {place}: expected an array of schemas"))?;
        list.iter().enumerate().try_for_each(|(i, schema)| self.schema(schema, &format!("{place}/{i}")))
    }

    fn reference(&mut self, value: &'a Value, place: &str) -> Result<(), String> {
        let target = value.as_str().ok_or_else(|| format!("at {place}: $ref must be a string"))?;
        if target == "#" || !self.refs.insert(target) {
            return Ok(());
        }
        let Some(pointer) = target.strip_prefix('#').filter(|p| p.starts_with('/')) else {
            return Err(format!("at {place}: only \"#\" and \"#/…\" are supported as $ref, not \"{target}\""));
        };
        match self.root.pointer(pointer) {
            Some(schema) => self.schema(schema, target),
            None => Err(format!("at {place}: there is no {target}")),
        }
    }

    fn schema(&mut self, schema: &'a Value, place: &str) -> Result<(), String> {
        let map = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(map) => map,
            _ => return Err(format!("at {place}: a schema must be an object or a boolean")),
        };
        for (key, value) in map {
            let below = format!("{place}/{key}");
            let fail = |what: String| Err(format!("at {below}: {what}"));
            match key.as_str() {
                key if UNSUPPORTED.contains(&key) => return fail(format!("\"{key}\" is not supported")),
                "type" => {
                    let one = std::slice::from_ref(value);
                    for name in value.as_array().map_or(one, Vec::as_slice) {
                        if !name.as_str().is_some_and(|name| TYPES.contains(&name)) {
                            return fail(format!("{name} is not a type"));
                        }
                    }
                }
                "pattern" => match value.as_str() {
                    Some(pattern) => self.pattern(pattern, &below)?,
                    None => return fail("a pattern must be a string".into()),
                },
                "format" if map.get("type").is_none_or(|t| t == "string") => {
                    if !value.as_str().is_some_and(|name| FORMATS.contains(&name)) {
                        return fail(format!(
                            "the format {value} is not supported; those are {}",
                            FORMATS[..10].join(", ")
                        ));
                    }
                }
                "$ref" => self.reference(value, &below)?,
                "properties" => self.members(value, &below)?,
                "patternProperties" => {
                    self.members(value, &below)?;
                    for pattern in value.as_object().into_iter().flat_map(Map::keys) {
                        self.pattern(pattern, &below)?;
                    }
                }
                "anyOf" | "oneOf" | "allOf" | "prefixItems" => self.items(value, &below)?,
                "items" if value.is_array() => self.items(value, &below)?,
                "items" | "additionalItems" | "additionalProperties" => self.schema(value, &below)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn pattern(&self, pattern: &str, place: &str) -> Result<(), String> {
        let regex = llguidance::regex_to_lark(pattern, "dw");
        let mut builder = llguidance::derivre::RegexBuilder::new();
        match builder.mk_regex_for_serach(&regex) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("at {place}: {}", one_line(&error.to_string()))),
        }
    }
}
