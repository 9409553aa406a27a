//! Removes key patterns that the library would offer although no key is left.
//!
//! The library allows a comma for every pattern of keys, and excludes the names in `properties` from the pattern. If
//! the pattern matches only these names, no key can follow the comma, and the answer is stuck. Such a pattern is
//! removed, and its schema is added to the names that it matches. The same applies to `additionalProperties` next to
//! patterns that match every key.

use llguidance::derivre::{RegexAst, RegexBuilder};
use serde_json::{json, Map, Value};

/// The step limit for deciding whether a language is empty. If it is exceeded, the language counts as not empty.
const FUEL: u64 = 200_000;

fn search(pattern: &str) -> RegexAst {
    RegexAst::SearchRegex(llguidance::regex_to_lark(pattern, "dw"))
}

fn is_empty(parts: Vec<RegexAst>) -> bool {
    let mut builder = RegexBuilder::new();
    let made = builder.mk(&RegexAst::And(parts)).and_then(|all| builder.into_regex_limited(all, FUEL));
    made.is_ok_and(|mut regex| regex.always_empty())
}

fn matches(pattern: &str, name: &str) -> bool {
    let mut builder = RegexBuilder::new();
    let made = builder.mk(&search(pattern)).and_then(|all| builder.into_regex_limited(all, FUEL));
    made.is_ok_and(|mut regex| regex.is_match(name))
}

fn none_of(names: &[String], patterns: &[String]) -> RegexAst {
    let names = names.iter().map(|name| RegexAst::Literal(name.clone()));
    RegexAst::Not(Box::new(RegexAst::Or(names.chain(patterns.iter().map(|pattern| search(pattern))).collect())))
}

pub fn drop_dead_ends(out: &mut Map<String, Value>) {
    let keys_of = |out: &Map<String, Value>, list: &str| -> Vec<String> {
        out.get(list).and_then(Value::as_object).map_or(Vec::new(), |map| map.keys().cloned().collect())
    };
    let patterns = keys_of(out, "patternProperties");
    if patterns.is_empty() {
        return;
    }
    let names = keys_of(out, "properties");
    if is_empty(vec![RegexAst::Regex("(?s:.*)".into()), none_of(&names, &patterns)]) {
        out.insert("additionalProperties".into(), Value::Bool(false));
    }
    for pattern in patterns {
        if names.is_empty() || !is_empty(vec![search(&pattern), none_of(&names, &[])]) {
            continue;
        }
        let Some(Value::Object(members)) = out.get_mut("patternProperties") else { return };
        let Some(schema) = members.shift_remove(&pattern) else { continue };
        let Some(Value::Object(properties)) = out.get_mut("properties") else { return };
        if schema == Value::Bool(true) {
            continue;
        }
        for (_, property) in properties.iter_mut().filter(|(name, _)| matches(&pattern, name)) {
            *property = json!({ "allOf": [property.take(), schema] });
        }
    }
}
