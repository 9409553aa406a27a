//! Objects that do not say `additionalProperties` are closed.
//!
//! The standard lets any further key follow. Servers that clients of Ollama, llama.cpp and vLLM were written for do not, and
//! a small model that may go on does. An object is closed if it names keys; `{"type": "object"}` alone stays any object,
//! and so does one that says `additionalProperties` itself.
//!
//! Parts that make one object together are closed together: the parts of an `allOf`, what a `$ref` leads to and what
//! stands beside it. To close each of them would leave no object at all.
//!
//! ```text
//!   allOf: [{properties: a}, {$ref: b}]      properties: {a: true, b: true}, additionalProperties: false,
//!                                       ──▶  allOf: [{properties: a}, {$ref: b}]   (open)
//! ```
//!
//! Alternatives (`anyOf`, `oneOf`) are closed each with the keys that stand beside all of them.

use super::pointer_of;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashSet};

/// Keys that an object may have: by name and by pattern, in the order of the schema.
#[derive(Default, Clone)]
pub struct Names {
    properties: Vec<String>,
    patterns: BTreeSet<String>,
}

#[derive(Clone)]
pub enum Closing {
    /// Left as it is: closing was not asked for, or the whole is closed that this is a part of.
    Open,
    /// Closed, with these keys allowed beside its own.
    With(Names),
}

pub struct Plan {
    /// Parts of an `allOf` and what a `$ref` leads to are not closed by themselves.
    pub parts_are_open: bool,
    pub branches: Closing,
    /// The keys of the whole, if it is to be closed here.
    whole: Option<Names>,
}

impl Names {
    fn is_empty(&self) -> bool {
        self.properties.is_empty() && self.patterns.is_empty()
    }

    fn add(&mut self, map: &Map<String, Value>) {
        let keys = |name| map.get(name).and_then(Value::as_object).into_iter().flat_map(Map::keys);
        for name in keys("properties") {
            if !self.properties.contains(name) {
                self.properties.push(name.clone());
            }
        }
        self.patterns.extend(keys("patternProperties").cloned());
    }
}

/// Finds the keys of all parts of an object.
struct Flatten<'a> {
    root: &'a Value,
    seen: HashSet<String>,
    names: Names,
    /// Some part has a list of keys, be it an empty one.
    named: bool,
    says_itself: bool,
}

impl Flatten<'_> {
    fn schema(&mut self, schema: &Value, alternatives: bool) {
        let Value::Object(map) = schema else { return };
        self.names.add(map);
        self.named |= names_keys(map);
        self.says_itself |= map.contains_key("additionalProperties");
        let reference = map.get("$ref").and_then(Value::as_str).filter(|target| target.starts_with('#'));
        if let Some(pointer) = reference.and_then(|target| pointer_of(target).ok()) {
            let root = self.root;
            if let (true, Some(target)) = (self.seen.insert(pointer.clone()), root.pointer(&pointer)) {
                self.schema(target, true);
            }
        }
        let lists: &[&str] = if alternatives { &["allOf", "anyOf", "oneOf"] } else { &["allOf"] };
        for part in lists.iter().filter_map(|list| map.get(*list)?.as_array()).flatten() {
            self.schema(part, true);
        }
    }
}

fn names_keys(map: &Map<String, Value>) -> bool {
    map.contains_key("properties") || map.contains_key("patternProperties")
}

pub fn plan(root: &Value, map: &Map<String, Value>, closing: &Closing) -> Plan {
    let Closing::With(beside) = closing else {
        return Plan { parts_are_open: true, branches: Closing::Open, whole: None };
    };
    let has_parts = map.contains_key("allOf") || names_keys(map) || !beside.is_empty();
    let branches = map.contains_key("anyOf") || map.contains_key("oneOf");
    let composed = map.contains_key("allOf") || map.contains_key("$ref") && (has_parts || branches);
    if !composed && !names_keys(map) && beside.is_empty() {
        return Plan { parts_are_open: false, branches: closing.clone(), whole: None };
    }
    let mut flat =
        Flatten { root, seen: HashSet::new(), names: beside.clone(), named: !beside.is_empty(), says_itself: false };
    flat.schema(&Value::Object(map.clone()), false);
    let open = flat.says_itself || !flat.named;
    Plan {
        parts_are_open: true,
        branches: match open {
            true if flat.says_itself => Closing::Open,
            true => closing.clone(),
            false => Closing::With(flat.names.clone()),
        },
        whole: (!open && !branches).then_some(flat.names),
    }
}

impl Plan {
    /// Says which keys there are, and that there are no others.
    pub fn close(&self, out: &mut Map<String, Value>) {
        let Some(names) = &self.whole else { return };
        for (list, keys) in [
            ("properties", &mut names.properties.iter() as &mut dyn Iterator<Item = &String>),
            ("patternProperties", &mut names.patterns.iter()),
        ] {
            for key in keys {
                let entry = out.entry(list).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(members) = entry {
                    members.entry(key.clone()).or_insert(Value::Bool(true));
                }
            }
        }
        out.insert("additionalProperties".into(), Value::Bool(false));
    }
}
