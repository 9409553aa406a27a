//! The tests of jinja2, which follow `is`.

use super::operators::{binary, holds};
use super::values::*;
use minijinja::value::ValueKind;
use minijinja::{Environment, Value};

pub const NAMES: [&str; 39] = [
    "!=",
    "<",
    "<=",
    "==",
    ">",
    ">=",
    "boolean",
    "callable",
    "defined",
    "divisibleby",
    "eq",
    "equalto",
    "escaped",
    "even",
    "false",
    "filter",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sameas",
    "sequence",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
];

/// Adds the tests. Most of them are minijinja's own.
pub fn add_to(env: &mut Environment<'static>) {
    env.add_test("callable", |value: &Value| matches!(value.kind(), ValueKind::Plain | ValueKind::Undefined));
    env.add_test("divisibleby", |value: &Value, by: &Value| Ok(binary("%", value, by)? == Value::from(0)));
    env.add_test("iterable", |value: &Value| {
        let kind = value.kind();
        matches!(kind, ValueKind::Undefined | ValueKind::String | ValueKind::Seq | ValueKind::Map | ValueKind::Iterable)
    });
    env.add_test("sequence", |value: &Value| match value.downcast_object_ref::<View>() {
        Some(view) => view.name.starts_with("range"),
        None => {
            matches!(value.kind(), ValueKind::Undefined | ValueKind::String | ValueKind::Seq | ValueKind::Map)
        }
    });
    for (name, op) in [("lt", "<"), ("lessthan", "<"), ("le", "<="), ("gt", ">"), ("greaterthan", ">"), ("ge", ">=")] {
        env.add_test(name, move |left: &Value, right: &Value| holds(op, left, right));
        env.add_test(op, move |left: &Value, right: &Value| holds(op, left, right));
    }
    env.add_test("filter", |value: &Value| value.as_str().is_some_and(|name| super::filters::NAMES.contains(&name)));
}
