//! Prepares JSON schemas for llguidance.
//!
//! ```text
//!   schema ─prepare─▶ unsupported keywords are rejected by name and location
//!                     references become `#/$defs/…`, which the library can follow
//!                     formats become patterns, unknown ones are dropped       (formats.rs)
//!                     objects are closed if requested                         (close.rs)
//!                     key patterns without a remaining key are removed        (keys.rs)
//!          ─prune───▶ schemas without a finite value become `false`           (finite.rs)
//! ```
//!
//! Where JSON allows any whitespace, answers may have none, one space, or a newline with up to 32 spaces or tabs. Small
//! models that may write unlimited whitespace sometimes write nothing else.

mod close;
mod finite;
mod formats;
pub use formats::pattern as format_pattern;
mod keys;

use crate::grammar::one_line;
use close::Closing;
use serde_json::{json, Map, Value};
use std::collections::HashMap;

const WHITESPACE: &str = r"\x20|\x0A[\x20\x09]{0,32}";

/// Keywords of the standard that constrain an answer but that the library does not support.
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

fn with_options(mut schema: Map<String, Value>) -> Value {
    // oneOf is treated as anyOf, because a grammar cannot express that no second alternative matches.
    let options = json!({ "whitespace_pattern": WHITESPACE, "coerce_one_of": true });
    schema.insert("x-guidance".into(), options);
    Value::Object(schema)
}

/// Returns the schema of any JSON object.
pub fn object() -> Value {
    with_options(json!({ "type": "object" }).as_object().cloned().unwrap_or_default())
}

fn parse(source: &str) -> Result<Value, String> {
    serde_json::from_str(source).map_err(|e| format!("not JSON: {e}"))
}

pub fn read(source: &str) -> Result<Value, String> {
    compile(&parse(source)?)
}

fn compile(schema: &Value) -> Result<Value, String> {
    match prepare(schema, false)? {
        Value::Object(map) => Ok(with_options(map)),
        Value::Bool(true) => Ok(with_options(Map::new())),
        _ => Err("at #: the schema false allows nothing".into()),
    }
}

/// Runs the library's own checks.
fn builds(schema: &Value) -> Result<(), String> {
    let compiled = compile(schema)?;
    let builder = llguidance::GrammarBuilder::new(None, llguidance::api::ParserLimits::default());
    let options = llguidance::JsonCompileOptions::default();
    options.json_to_llg_with_overrides(builder, compiled).map(|_| ()).map_err(|e| one_line(&e.to_string()))
}

fn close(schema: &Value) -> Result<Value, String> {
    let closed = prepare(schema, true)?;
    let open = prepare(schema, false)?;
    // Keep the schema open if closing it would leave no valid answer.
    Ok(if builds(&closed).is_err() && builds(&open).is_ok() { open } else { closed })
}

/// Returns the schema with its objects closed (close.rs).
pub fn closed(source: &str) -> Result<String, String> {
    close(&parse(source)?).map(|schema| schema.to_string())
}

/// Checks that answers can be constrained by this schema.
pub fn check(source: &str, close_objects: bool) -> Result<(), String> {
    let schema = parse(source)?;
    builds(&if close_objects { close(&schema)? } else { prepare(&schema, false)? })
}

fn prepare(schema: &Value, close_objects: bool) -> Result<Value, String> {
    if schema.get("x-guidance").is_some() {
        return Err("at #: \"x-guidance\" is set by Ingot and may not be given".into());
    }
    let closing = if close_objects { Closing::With(Default::default()) } else { Closing::Never };
    let mut walk = Walk {
        root: schema,
        closing: closing.clone(),
        names: HashMap::new(),
        pending: Vec::new(),
        definitions: Map::new(),
    };
    let mut prepared = walk.schema(schema, "#", &closing)?;
    while let Some(target) = walk.pending.pop() {
        let name = walk.names[&target].clone();
        let found = schema.pointer(&target.pointer).cloned().unwrap_or(Value::Bool(true));
        let definition = walk.schema(&found, &format!("#{}", target.pointer), &target.closing)?;
        walk.definitions.insert(name, definition);
    }
    if let (false, Value::Object(map)) = (walk.definitions.is_empty(), &mut prepared) {
        map.insert("$defs".into(), Value::Object(walk.definitions));
    }
    finite::prune(prepared)
}

/// Prepares the schemas in the `%json { … }` blocks of a Lark grammar.
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
                out += &format!(" {}", compile(&schema).map_err(|e| format!("in %json: {e}"))?);
                rest = &block[end..];
            }
            _ => rest = block, // it is in a string or a comment, or an error that the library locates better
        }
    }
    Ok(out + rest)
}

/// The target of a `$ref`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Target {
    pointer: String,
    closing: Closing,
}

struct Walk<'a> {
    root: &'a Value,
    /// The closing of the root.
    closing: Closing,
    /// Maps the targets of references to their names in `$defs`.
    names: HashMap<Target, String>,
    pending: Vec<Target>,
    definitions: Map<String, Value>,
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Returns the JSON pointer of a fragment "#/…" (RFC 6901, 6). Percent-encoding is decoded, but ~0 and ~1 are kept.
fn pointer_of(reference: &str) -> Result<String, String> {
    let bytes = reference.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 1;
    while at < bytes.len() {
        if bytes[at] != b'%' {
            decoded.push(bytes[at]);
            at += 1;
            continue;
        }
        let digits = reference.get(at + 1..at + 3).filter(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.ok_or_else(|| {
            format!("\"{reference}\" has a \"%\" at character {} that two hexadecimal digits do not follow", at + 1)
        })?);
        at += 3;
    }
    let pointer = String::from_utf8(decoded).map_err(|_| format!("\"{reference}\" does not decode to UTF-8"))?;
    let mut rest = pointer.as_str();
    while let Some(tilde) = rest.find('~') {
        if !rest[tilde + 1..].starts_with(['0', '1']) {
            return Err(format!("\"{reference}\" has a \"~\" that neither 0 nor 1 follows"));
        }
        rest = &rest[tilde + 1..];
    }
    Ok(pointer)
}

impl Walk<'_> {
    fn members(&mut self, value: &Value, place: &str, plan: &close::Plan) -> Result<Value, String> {
        let map = value.as_object().ok_or_else(|| format!("at {place}: expected an object of schemas"))?;
        let mut out = Map::new();
        for (key, schema) in map {
            out.insert(key.clone(), self.schema(schema, &format!("{place}/{}", escaped(key)), plan.of_key(key))?);
        }
        Ok(Value::Object(out))
    }

    fn items(&mut self, value: &Value, place: &str, closing: &Closing) -> Result<Value, String> {
        let list = value.as_array().ok_or_else(|| format!("at {place}: expected an array of schemas"))?;
        let each = list.iter().enumerate();
        each.map(|(i, schema)| self.schema(schema, &format!("{place}/{i}"), closing)).collect()
    }

    fn reference(&mut self, value: &Value, place: &str, closing: &Closing) -> Result<Value, String> {
        let target = value.as_str().ok_or_else(|| format!("at {place}: $ref must be a string"))?;
        if !target.starts_with("#/") && target != "#" {
            return Err(format!("at {place}: only \"#\" and \"#/…\" are supported as $ref, not \"{target}\""));
        }
        let pointer = pointer_of(target).map_err(|why| format!("at {place}: {why}"))?;
        if pointer.is_empty() && *closing == self.closing {
            return Ok("#".into());
        }
        if self.root.pointer(&pointer).is_none() {
            return Err(format!("at {place}: there is no {target}"));
        }
        let target = Target { pointer, closing: closing.clone() };
        if !self.names.contains_key(&target) {
            // The library splits at "/" and decodes nothing, so use names without "/" that need no decoding.
            self.names.insert(target.clone(), format!("d{}", self.names.len()));
            self.pending.push(target.clone());
        }
        Ok(format!("#/$defs/{}", self.names[&target]).into())
    }

    fn schema(&mut self, schema: &Value, place: &str, closing: &Closing) -> Result<Value, String> {
        let map = match schema {
            Value::Bool(_) => return Ok(schema.clone()),
            Value::Object(map) => map,
            _ => return Err(format!("at {place}: a schema must be an object or a boolean")),
        };
        let plan = close::plan(self.root, map, closing);
        let mut out = Map::new();
        for (key, value) in map {
            let below = format!("{place}/{}", escaped(key));
            let fail = |what: String| Err(format!("at {below}: {what}"));
            let prepared = match key.as_str() {
                key if UNSUPPORTED.contains(&key) => return fail(format!("\"{key}\" is not supported")),
                // Referenced definitions are kept, under generated names.
                "$defs" | "definitions" => continue,
                "type" => {
                    let one = std::slice::from_ref(value);
                    for name in value.as_array().map_or(one, Vec::as_slice) {
                        if !name.as_str().is_some_and(|name| TYPES.contains(&name)) {
                            return fail(format!("{name} is not a type"));
                        }
                    }
                    value.clone()
                }
                "pattern" => match value.as_str() {
                    Some(pattern) => self.pattern(pattern, &below).map(|()| value.clone())?,
                    None => return fail("a pattern must be a string".into()),
                },
                // Handled last, because it may have to be combined with a pattern.
                "format" => continue,
                "$ref" => self.reference(value, &below, &plan.parts)?,
                "properties" => self.members(value, &below, &plan)?,
                "patternProperties" => {
                    for pattern in value.as_object().into_iter().flat_map(Map::keys) {
                        self.pattern(pattern, &below)?;
                    }
                    self.members(value, &below, &plan)?
                }
                "allOf" => self.items(value, &below, &plan.parts)?,
                "anyOf" | "oneOf" => self.items(value, &below, &plan.branches)?,
                "prefixItems" => self.items(value, &below, &plan.below)?,
                "items" if value.is_array() => self.items(value, &below, &plan.below)?,
                "items" | "additionalItems" | "additionalProperties" => self.schema(value, &below, &plan.below)?,
                _ => value.clone(),
            };
            out.insert(key.clone(), prepared);
        }
        if let Some(format) = map.get("format") {
            formats::apply(format, &mut out);
        }
        plan.close(&mut out);
        keys::drop_dead_ends(&mut out);
        Ok(Value::Object(out))
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
