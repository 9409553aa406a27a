//! Removes recursion without an end.
//!
//! No finite value satisfies `{"required": ["a"], "properties": {"a": {"$ref": "#"}}}`, so an answer that follows it
//! runs to max_tokens. The schemas with a finite value are the least fixed point of these rules:
//!
//! - a scalar has a finite value;
//! - an object has one if the schemas of its required keys and of `minProperties` keys have one;
//! - an array has one if the schemas of its first `minItems` items have one;
//! - an `anyOf` has one if one of its branches has one;
//! - a reference has one if its target has one.
//!
//! A schema without a finite value becomes `false`, which the library omits wherever there is an alternative. If the
//! whole schema has none, that is an error.

use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::HashSet;

/// The largest number of items of an array that are examined.
const MOST_ITEMS: u64 = 64;

struct Finite<'a> {
    root: &'a Value,
    /// The targets of references that are known to have a finite value.
    known: HashSet<String>,
    /// Schemas under examination. A schema can be reached again only through known targets.
    asked: RefCell<HashSet<*const Value>>,
}

/// Keywords that, next to a `$ref`, restrict its target.
const CONSTRAINTS: [&str; 14] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "items",
    "minItems",
    "minProperties",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "properties",
    "required",
    "type",
];

/// All constraints on a value at one place: the schema and the parts that `allOf` and `$ref` add.
#[derive(Default)]
struct Parts<'a> {
    maps: Vec<&'a Map<String, Value>>,
    seen: HashSet<*const Map<String, Value>>,
    /// Some part has no value, or is not yet known to have one.
    stuck: bool,
}

/// Returns whether a pattern of `patternProperties` matches a key. A pattern that is too large to be tried counts as
/// not matching.
fn matches(pattern: &str, key: &str) -> bool {
    const MOST: u64 = 10_000;
    let mut builder = llguidance::derivre::RegexBuilder::new();
    let found = builder.mk_regex_for_serach(&llguidance::regex_to_lark(pattern, "dw"));
    found.and_then(|regex| builder.to_regex_limited(regex, MOST)).is_ok_and(|mut regex| regex.is_match(key))
}

fn references<'a>(value: &'a Value, found: &mut HashSet<&'a str>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(target)) = map.get("$ref") {
                found.insert(target);
            }
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

impl<'a> Finite<'a> {
    fn target(&self, reference: &str) -> Option<&'a Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }

    fn collect(&self, schema: &'a Value, parts: &mut Parts<'a>) {
        match schema {
            Value::Bool(true) => {}
            Value::Object(map) => {
                if !parts.seen.insert(map) {
                    return;
                }
                parts.maps.push(map);
                for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
                    self.collect(part, parts);
                }
                let Some(reference) = map.get("$ref").and_then(Value::as_str) else { return };
                match self.target(reference) {
                    Some(target) if self.known.contains(reference) => self.collect(target, parts),
                    _ => parts.stuck = true,
                }
            }
            _ => parts.stuck = true,
        }
    }

    fn has_value(&self, schema: &'a Value) -> bool {
        if let Value::Object(map) = schema {
            let alone = !CONSTRAINTS.iter().any(|keyword| map.contains_key(*keyword));
            if let (true, Some(Value::String(target))) = (alone, map.get("$ref")) {
                return self.known.contains(target);
            }
            // An `allOf` of one part equals that part. Following it avoids collecting long chains at every link.
            let wraps = CONSTRAINTS.iter().filter(|keyword| map.contains_key(**keyword)).eq(["allOf"].iter());
            if let (true, None, Some([part])) =
                (wraps, map.get("$ref"), map.get("allOf").and_then(Value::as_array).map(Vec::as_slice))
            {
                return self.has_value(part);
            }
        }
        if !self.asked.borrow_mut().insert(schema) {
            return true;
        }
        let answer = self.find_value(schema);
        self.asked.borrow_mut().remove(&std::ptr::from_ref(schema));
        answer
    }

    fn find_value(&self, schema: &'a Value) -> bool {
        let mut parts = Parts::default();
        self.collect(schema, &mut parts);
        if parts.stuck {
            return false;
        }
        let branches = |list: &str| {
            let mut lists = parts.maps.iter().filter_map(|map| map.get(list)?.as_array());
            lists.all(|list| list.iter().any(|branch| self.has_value(branch)))
        };
        if !branches("anyOf") || !branches("oneOf") {
            return false;
        }
        let allows = |name: &str| {
            parts.maps.iter().all(|map| match map.get("type") {
                None => !map.contains_key("enum") && !map.contains_key("const"),
                Some(Value::Array(names)) => names.iter().any(|one| one == name),
                Some(one) => one == name,
            })
        };
        let listed = parts.maps.iter().any(|map| map.contains_key("enum") || map.contains_key("const"));
        let scalars = ["null", "boolean", "number", "integer", "string"];
        listed
            || scalars.iter().any(|name| allows(name))
            || !allows("object") && !allows("array")
            || allows("object") && self.has_object(&parts)
            || allows("array") && self.has_array(&parts)
    }

    /// Returns whether an object may have this key, with a value that satisfies all schemas for it.
    fn has_key(&self, parts: &Parts<'a>, name: &str) -> bool {
        parts.maps.iter().all(|map| {
            let property = map.get("properties").and_then(|properties| properties.get(name));
            let patterns = map.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
            let mut said: Vec<&Value> = patterns.filter(|(key, _)| matches(key, name)).map(|(_, one)| one).collect();
            said.extend(property);
            if said.is_empty() {
                said.extend(map.get("additionalProperties"));
            }
            said.into_iter().all(|schema| self.has_value(schema))
        })
    }

    fn has_object(&self, parts: &Parts<'a>) -> bool {
        let mut required =
            parts.maps.iter().filter_map(|map| map.get("required")?.as_array()).flatten().filter_map(Value::as_str);
        if !required.all(|name| self.has_key(parts, name)) {
            return false;
        }
        let least = parts.maps.iter().filter_map(|map| map.get("minProperties")?.as_u64()).max().unwrap_or(0);
        if least == 0 {
            return true;
        }
        // Keys that are not listed by name are unlimited in number.
        let others = parts.maps.iter().all(|map| {
            let patterns = map.get("patternProperties").and_then(Value::as_object);
            map.get("additionalProperties").is_none_or(|schema| self.has_value(schema))
                || patterns.is_some_and(|patterns| patterns.values().any(|schema| self.has_value(schema)))
        });
        let named = parts.maps.iter().filter_map(|map| map.get("properties")?.as_object()).flat_map(Map::keys);
        let names: HashSet<&String> = named.collect();
        others || names.into_iter().filter(|name| self.has_key(parts, name)).count() as u64 >= least
    }

    fn has_array(&self, parts: &Parts<'a>) -> bool {
        let least = parts.maps.iter().filter_map(|map| map.get("minItems")?.as_u64()).max().unwrap_or(0);
        (0..least.min(MOST_ITEMS) as usize).all(|at| {
            parts.maps.iter().all(|map| {
                let lists = ["prefixItems", "items"].iter().filter_map(|list| map.get(*list));
                let named = lists.clone().find_map(|list| list.as_array()?.get(at));
                let rest = map.get("items").filter(|items| !items.is_array()).or_else(|| map.get("additionalItems"));
                named.or(rest).is_none_or(|schema| self.has_value(schema))
            })
        })
    }

    /// Returns the schema, in which `false` replaces every schema that no finite value satisfies.
    fn pruned(&self, schema: &'a Value) -> Value {
        if !self.has_value(schema) {
            return Value::Bool(false);
        }
        let Value::Object(map) = schema else { return schema.clone() };
        let list = |value: &'a Value| match value {
            Value::Array(items) => items.iter().map(|item| self.pruned(item)).collect(),
            other => self.pruned(other),
        };
        let members = |value: &'a Value| match value {
            Value::Object(map) => map.iter().map(|(key, schema)| (key.clone(), self.pruned(schema))).collect(),
            other => other.clone(),
        };
        let prune = |(key, value): (&String, &'a Value)| {
            let pruned = match key.as_str() {
                "properties" | "patternProperties" | "$defs" => members(value),
                "anyOf" | "oneOf" | "prefixItems" | "items" | "additionalItems" => list(value),
                "additionalProperties" => self.pruned(value),
                // The whole schema has a value at this point, so its parts have one together.
                "allOf" => match value {
                    Value::Array(parts) => parts.iter().map(|part| self.pruned(part)).collect(),
                    other => other.clone(),
                },
                _ => value.clone(),
            };
            (key.clone(), pruned)
        };
        Value::Object(map.iter().map(prune).collect())
    }
}

pub fn prune(root: Value) -> Result<Value, String> {
    let mut targets = HashSet::new();
    references(&root, &mut targets);
    if targets.is_empty() {
        return Ok(root);
    }
    let mut finite = Finite { root: &root, known: HashSet::new(), asked: RefCell::default() };
    // Targets that were found last are the deepest, so a chain is resolved in one round.
    let mut unknown: Vec<&str> = targets.into_iter().collect();
    unknown.sort_by_key(|target| std::cmp::Reverse((target.len(), *target)));
    loop {
        let before = unknown.len();
        unknown.retain(|target| {
            let found = finite.target(target).is_some_and(|schema| finite.has_value(schema));
            if found {
                finite.known.insert((*target).to_owned());
            }
            !found
        });
        if unknown.len() == before {
            break;
        }
    }
    if !finite.has_value(&root) {
        return Err("at #: no answer can match it: its recursion has no end".into());
    }
    Ok(finite.pruned(&root))
}
