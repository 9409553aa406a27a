//! Closes objects that do not specify `additionalProperties`.
//!
//! The standard permits any further key in such an object. Clients of Ollama, llama.cpp and vLLM were written for
//! servers that do not, and a small model that may add keys will add them. An object is closed if it names keys.
//! `{"type": "object"}` alone stays any object, and an object with its own `additionalProperties` is unchanged.
//!
//! Parts that together form one object are closed together: the parts of an `allOf`, and the target of a `$ref`
//! with its sibling keywords. Closing each part separately would permit no object at all.
//!
//! ```text
//!   allOf: [{properties: a}, {$ref: b}]      properties: {a: true, b: true}, additionalProperties: false,
//!                                       ──▶  allOf: [{properties: a}, {$ref: b}]   (open)
//! ```
//!
//! Each alternative (`anyOf`, `oneOf`) is closed together with the keys beside the alternatives. If several parts
//! constrain one key, the schemas of that key stay open. They also form one object together, but its parts are in
//! different places.

use super::pointer_of;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashSet};

/// The keys that an object may have, by name and by pattern, in the order of the schema.
#[derive(Default, Clone, PartialEq, Eq, Hash)]
pub struct Names {
    properties: Vec<String>,
    patterns: BTreeSet<String>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Closing {
    /// No object is closed here and below.
    Never,
    /// This is a part of a whole, which is closed instead. Other parts also constrain these keys.
    Part(BTreeSet<String>),
    /// The object is closed, with these keys allowed in addition to its own.
    With(Names),
}

pub struct Plan {
    /// For the parts of an `allOf`, and the target of a `$ref`.
    pub parts: Closing,
    pub branches: Closing,
    /// For the schemas of keys and items, except the keys that several parts have.
    pub below: Closing,
    shared: BTreeSet<String>,
    /// The keys of the whole, if it is to be closed here.
    whole: Option<Names>,
}

impl Names {
    fn is_empty(&self) -> bool {
        self.properties.is_empty() && self.patterns.is_empty()
    }

    /// Adds keys. Keys that are already present are also added to `shared`.
    fn add(&mut self, map: &Map<String, Value>, shared: &mut BTreeSet<String>) {
        let keys = |name| map.get(name).and_then(Value::as_object).into_iter().flat_map(Map::keys);
        for name in keys("properties") {
            if self.properties.contains(name) {
                shared.insert(name.clone());
            } else {
                self.properties.push(name.clone());
            }
        }
        self.patterns.extend(keys("patternProperties").cloned());
    }
}

/// Collects the keys of all parts of an object.
struct Flatten<'a> {
    root: &'a Value,
    seen: HashSet<String>,
    names: Names,
    shared: BTreeSet<String>,
    /// At least one of the parts lists its keys. The list may be empty.
    named: bool,
    says_itself: bool,
}

impl Flatten<'_> {
    fn schema(&mut self, schema: &Value, alternatives: bool) {
        let Value::Object(map) = schema else { return };
        self.names.add(map, &mut self.shared);
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
    let plain = |parts: Closing, branches: Closing, below: Closing, shared: BTreeSet<String>| Plan {
        parts,
        branches,
        below,
        shared,
        whole: None,
    };
    let alone = Closing::With(Names::default());
    let beside = match closing {
        Closing::Never => return plain(Closing::Never, Closing::Never, Closing::Never, BTreeSet::new()),
        Closing::Part(shared) => return plain(closing.clone(), closing.clone(), alone, shared.clone()),
        Closing::With(beside) => beside,
    };
    let has_parts = map.contains_key("allOf") || names_keys(map) || !beside.is_empty();
    let branches = map.contains_key("anyOf") || map.contains_key("oneOf");
    let composed = map.contains_key("allOf") || map.contains_key("$ref") && (has_parts || branches);
    if !composed && !names_keys(map) && beside.is_empty() {
        return plain(alone.clone(), closing.clone(), alone, BTreeSet::new());
    }
    let mut flat = Flatten {
        root,
        seen: HashSet::new(),
        names: beside.clone(),
        shared: BTreeSet::new(),
        named: !beside.is_empty(),
        says_itself: false,
    };
    flat.schema(&Value::Object(map.clone()), false);
    let parts = Closing::Part(flat.shared.clone());
    let open = flat.says_itself || !flat.named;
    Plan {
        branches: match (flat.says_itself, open) {
            (true, _) => parts.clone(),
            (_, true) => closing.clone(),
            _ => Closing::With(flat.names.clone()),
        },
        parts,
        below: alone,
        shared: flat.shared,
        whole: (!open && !branches).then_some(flat.names),
    }
}

impl Plan {
    pub fn of_key(&self, key: &str) -> &Closing {
        if self.shared.contains(key) {
            &Closing::Never
        } else {
            &self.below
        }
    }

    /// Writes the permitted keys, and forbids all others.
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
