//! Filters that choose, compare or look up items of sequences.

use super::numbers::parse_int;
use crate::jinja::text::*;
use crate::jinja::values::*;
use minijinja::{State, Value};
use std::cmp::Ordering;

/// Returns the parts of an attribute path such as "user.names.0".
fn path(attribute: &Value) -> Result<Vec<Value>> {
    let part = |part: &str| match !part.is_empty() && part.chars().all(is_digit) {
        true => parse_int(part, 10)
            .map(integer)
            .ok_or_else(|| fail(format!("invalid literal for int() with base 10: '{part}'"))),
        false => Ok(Value::from(part)),
    };
    match attribute.as_str() {
        Some(text) => text.split('.').map(part).collect(),
        None => Ok(vec![attribute.clone()]),
    }
}

fn look_up(item: &Value, path: &[Value], default: Option<&Value>) -> Result<Value> {
    let mut item = item.clone();
    for part in path {
        undefined(&item)?;
        item = item.get_item(part).unwrap_or_default();
        if let (true, Some(default)) = (item.is_undefined(), default) {
            item = default.clone();
        }
    }
    Ok(item)
}

fn folded(value: Value, case_sensitive: bool) -> Value {
    match value.as_str() {
        Some(text) if !case_sensitive => Value::from(text.to_lowercase()),
        _ => value,
    }
}

/// Returns the values by which items are compared, joined or summed: the items themselves, or one of their attributes.
pub fn keys(
    items: Vec<Value>,
    attribute: &Option<Value>,
    default: Option<&Value>,
    case_sensitive: bool,
) -> Result<Vec<Value>> {
    let path = match attribute.as_ref().filter(|attribute| !attribute.is_none()) {
        None => Vec::new(),
        Some(attribute) => path(attribute)?,
    };
    items.iter().map(|item| Ok(folded(look_up(item, &path, default)?, case_sensitive))).collect()
}

/// minijinja names groups in lower case; jinja2 uses the spelling of the first member.
pub fn regrouped(groups: Value, args: &[Value]) -> Result<Value> {
    let [attribute, default, _] = bind("groupby", args, ["attribute", "default", "case_sensitive"])?;
    let path = path(&required(attribute, "groupby", "attribute")?)?;
    let default = given(default);
    let named = |pair: Value| {
        let members = pair.get_item_by_index(1)?;
        let first = members.get_item_by_index(0)?;
        Ok(group(look_up(&first, &path, default.as_ref())?, list(items(&members)?)))
    };
    Ok(list(items(&groups)?.into_iter().map(named).collect::<Result<_>>()?))
}

pub fn extreme(name: &str, value: &Value, args: &[Value]) -> Result<Value> {
    let [case_sensitive, attribute] = bind(name, args, ["case_sensitive", "attribute"])?;
    let items = items(value)?;
    let keys = keys(items.clone(), &attribute, None, truth(&case_sensitive))?;
    let wanted = if name == "min" { Ordering::Less } else { Ordering::Greater };
    let operator = if name == "min" { "<" } else { ">" };
    let mut best: Option<usize> = None;
    for at in 0..keys.len() {
        match best {
            Some(kept) if compare(&keys[at], &keys[kept], operator)? != Some(wanted) => {}
            _ => best = Some(at),
        }
    }
    Ok(best.map_or(Value::UNDEFINED, |at| items[at].clone()))
}

pub fn map(state: &mut State, value: &Value, args: &[Value]) -> Result<Value> {
    if !value.is_true() {
        return Ok(generator(Vec::new()));
    }
    let (positional, named) = split(args);
    if positional.is_empty() && named.get_attr("attribute").is_ok_and(|attribute| !attribute.is_undefined()) {
        let [attribute, default] = bind("map", args, ["attribute", "default"])?;
        return Ok(generator(keys(items(value)?, &attribute, given(default).as_ref(), true)?));
    }
    let (name, rest) = args.split_first().ok_or_else(|| fail("map requires a filter argument"))?;
    let name = string(name)?;
    let mut apply = |item| state.apply_filter(name, &[&[item], rest].concat());
    Ok(generator(items(value)?.into_iter().map(&mut apply).collect::<Result<_>>()?))
}

pub fn select(state: &mut State, name: &str, value: &Value, args: &[Value]) -> Result<Value> {
    if !value.is_true() {
        return Ok(generator(Vec::new()));
    }
    let wanted = name.starts_with("select");
    let (attribute, rest) = match args {
        [first, rest @ ..] if name.ends_with("attr") => (path(first)?, rest),
        [] if name.ends_with("attr") => return Err(fail("Missing parameter for attribute name")),
        rest => (Vec::new(), rest),
    };
    let mut selected = Vec::new();
    for item in items(value)? {
        let subject = look_up(&item, &attribute, None)?;
        let holds = match rest {
            [test, rest @ ..] => state.perform_test(string(test)?, &[&[subject], rest].concat())?,
            [] => subject.is_true(),
        };
        if holds == wanted {
            selected.push(item);
        }
    }
    Ok(generator(selected))
}
