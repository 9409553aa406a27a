//! The filters of jinja2 except `random`, `urlize` and `wordwrap`, and the additions of transformers.
//!
//! `from_json` comes from llama.cpp. Its templates for DeepSeek V4 parse arguments with it.

mod numbers;
mod sequences;
mod strings;

use super::operators::binary;
use super::text::*;
use super::values::*;
use crate::python_json;
use minijinja::filters as library_filters;
use minijinja::value::{Kwargs, Rest, Serde, ValueKind, ValueOrKwargs};
use minijinja::{Environment, State, Value};
use numbers::{absolute, round, to_float, to_int};
use sequences::{extreme, keys, map, regrouped, select};
use strings::{indent, title_words, urlencode, xmlattr};

pub const NAMES: [&str; 52] = [
    "abs",
    "attr",
    "batch",
    "capitalize",
    "center",
    "count",
    "d",
    "default",
    "dictsort",
    "e",
    "escape",
    "filesizeformat",
    "first",
    "float",
    "forceescape",
    "format",
    "from_json",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "pprint",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "string",
    "striptags",
    "sum",
    "title",
    "tojson",
    "trim",
    "truncate",
    "unique",
    "upper",
    "urlencode",
    "wordcount",
    "xmlattr",
];

/// A filter of minijinja that takes some arguments only by name or only by position.
struct Library {
    name: &'static str,
    /// The filter's name in the environment, which no template can spell.
    own: &'static str,
    parameters: &'static [&'static str],
    by_name: bool,
}

const fn library(own: &'static str, parameters: &'static [&'static str], by_name: bool) -> Library {
    Library { name: own.split_at(1).1, own, parameters, by_name }
}

const LIBRARY: [Library; 9] = [
    library("|batch", &["linecount", "fill_with"], false),
    library("|dictsort", &["case_sensitive", "by", "reverse"], true),
    library("|filesizeformat", &["binary"], false),
    library("|groupby", &["attribute", "default", "case_sensitive"], true),
    library("|slice", &["slices", "fill_with"], false),
    library("|sort", &["reverse", "case_sensitive", "attribute"], true),
    library("|striptags", &[], false),
    library("|truncate", &["length", "killwords", "end", "leeway"], true),
    library("|unique", &["case_sensitive", "attribute"], true),
];

fn of_library(state: &mut State, filter: &Library, value: &Value, args: &[Value]) -> Result<Value> {
    let (positional, named) = split(args);
    if positional.len() > filter.parameters.len() {
        return Err(fail(format!("{}() takes at most {} arguments", filter.name, filter.parameters.len())));
    }
    let mut all = vec![value.clone()];
    if !filter.by_name {
        all.extend(positional.iter().cloned());
        let later = filter.parameters[positional.len()..].iter().map(|name| named.get_attr(name).unwrap_or_default());
        all.extend(later.take_while(|given| !given.is_undefined()));
        return state.apply_filter(filter.own, &all);
    }
    let mut keywords: Vec<(String, Value)> =
        filter.parameters.iter().zip(positional).map(|(name, value)| (name.to_string(), value.clone())).collect();
    keywords.extend(pairs(named)?.into_iter().map(|(name, value)| (name.to_string(), value)));
    all.push(Kwargs::from_iter(keywords).into());
    state.apply_filter(filter.own, &all)
}

pub fn add_to(env: &mut Environment<'static>) {
    for name in NAMES {
        env.add_filter(name, move |state: &mut State, value: &Value, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            match LIBRARY.iter().find(|filter| filter.name == name) {
                Some(filter) if name == "groupby" => regrouped(of_library(state, filter, value, &args)?, &args),
                Some(filter) => of_library(state, filter, value, &args),
                None => apply(state, name, value, &args),
            }
        });
    }
    env.add_filter("|batch", library_filters::batch);
    env.add_filter("|dictsort", library_filters::dictsort);
    env.add_filter("|filesizeformat", minijinja_contrib::filters::filesizeformat);
    env.add_filter("|groupby", library_filters::groupby);
    env.add_filter("|slice", library_filters::slice);
    env.add_filter("|sort", library_filters::sort);
    env.add_filter("|striptags", minijinja_contrib::filters::striptags);
    env.add_filter("|truncate", minijinja_contrib::filters::truncate);
    env.add_filter("|unique", library_filters::unique);
}

fn apply(state: &mut State, name: &str, value: &Value, args: &[Value]) -> Result<Value> {
    let plain = |changed: &dyn Fn(&str) -> String| -> Result<Value> {
        let [] = bind(name, args, [])?;
        let changed = changed(&text(value)?);
        Ok(if value.is_safe() { Value::from_safe_string(changed) } else { Value::from(changed) })
    };
    let none = || bind(name, args, []).map(|[]| ());
    match name {
        "abs" => none().and_then(|()| absolute(value)),
        "attr" => {
            let attribute = one(name, args, "name")?;
            Ok(super::methods::attr(value, string(&attribute)?))
        }
        "capitalize" => plain(&capitalize),
        "lower" => plain(&str::to_lowercase),
        "upper" => plain(&str::to_uppercase),
        "title" => plain(&title_words),
        "center" => {
            let [width] = bind(name, args, ["width"])?;
            let width = width.map_or(Ok(80), |width| size(&width))?;
            Ok(Value::from(center(&text(value)?, width, ' ')))
        }
        "trim" => {
            let chars = given(bind(name, args, ["chars"])?[0].take());
            super::methods::call(state, &Value::from(text(value)?), "strip", chars.as_slice())
        }
        "count" | "length" => {
            none()?;
            match value.len() {
                _ if value.is_undefined() => Ok(Value::from(0)),
                Some(length) => Ok(Value::from(length)),
                None => Err(fail(format!("object of type '{}' has no len()", type_name(value)))),
            }
        }
        "d" | "default" => {
            let [default, boolean] = bind(name, args, ["default_value", "boolean"])?;
            let replace = value.is_undefined() || truth(&boolean) && !value.is_true();
            Ok(if replace { default.unwrap_or_else(|| Value::from("")) } else { value.clone() })
        }
        "e" | "escape" => none().and_then(|()| Ok(Value::from_safe_string(escaped(value)?))),
        "forceescape" => none().and_then(|()| Ok(Value::from_safe_string(escape_html(&text(value)?)))),
        "safe" => none().and_then(|()| Ok(Value::from_safe_string(text(value)?.into_owned()))),
        "string" if value.is_safe() => none().map(|()| value.clone()),
        "string" => none().and_then(|()| Ok(Value::from(text(value)?))),
        "pprint" => none().and_then(|()| repr(value).map(Value::from)),
        "first" => none().and_then(|()| match value.downcast_object_ref::<Generator>() {
            Some(left) => Ok(left.next().unwrap_or_default()),
            None => Ok(items(value)?.into_iter().next().unwrap_or_default()),
        }),
        "last" => none().and_then(|()| Ok(items(value)?.pop().unwrap_or_default())),
        "float" => to_float(value, args),
        "int" => to_int(value, args),
        "format" => {
            let (positional, named) = split(args);
            let given = if named.is_undefined() { tuple(positional.to_vec()) } else { named.clone() };
            binary("%", &Value::from(text(value)?), &given)
        }
        "from_json" => {
            none()?;
            let json: serde_json::Value =
                serde_json::from_str(string(value)?).map_err(|e| fail(format!("from_json: {e}")))?;
            Ok(Value::from(Serde(json)))
        }
        "indent" => indent(value, args),
        "items" => {
            none()?;
            match value.kind() {
                ValueKind::Undefined => Ok(generator(Vec::new())),
                ValueKind::Map => {
                    Ok(generator(pairs(value)?.into_iter().map(|(key, value)| tuple(vec![key, value])).collect()))
                }
                _ => Err(fail("Can only get item pairs from a mapping.")),
            }
        }
        "join" => {
            let [separator, attribute] = bind(name, args, ["d", "attribute"])?;
            let separator = separator.unwrap_or_else(|| Value::from(""));
            let items = keys(items(value)?, &attribute, None, true)?;
            let parts = items.iter().map(text).collect::<Result<Vec<_>>>()?;
            Ok(Value::from(parts.join(&*text(&separator)?)))
        }
        "list" => none().and_then(|()| items(value).map(list)),
        "map" => map(state, value, args),
        "min" | "max" => extreme(name, value, args),
        "select" | "reject" | "selectattr" | "rejectattr" => select(state, name, value, args),
        "replace" => {
            let [old, new, count] = bind(name, args, ["old", "new", "count"])?;
            let (old, new) = (required(old, name, "old")?, required(new, name, "new")?);
            let count = given(count).map_or(Ok(-1), |count| int(&count))?;
            super::methods::replace(&text(value)?, &text(&old)?, &text(&new)?, count).map(Value::from)
        }
        "reverse" if value.kind() == ValueKind::String => plain(&|text| text.chars().rev().collect()),
        "reverse" => none().and_then(|()| Ok(generator(items(value)?.into_iter().rev().collect()))),
        "round" => round(value, args),
        "sum" => {
            let [attribute, start] = bind(name, args, ["attribute", "start"])?;
            let items = keys(items(value)?, &attribute, None, true)?;
            let start = start.unwrap_or(Value::from(0));
            if start.kind() == ValueKind::String {
                return Err(fail("sum() can't sum strings [use ''.join(seq) instead]"));
            }
            items.iter().try_fold(start, |sum, item| binary("+", &sum, item))
        }
        "tojson" => python_json::filter(value, args).map(Value::from),
        "urlencode" => urlencode(value, args).map(Value::from),
        "wordcount" => {
            none()?;
            let text = text(value)?;
            let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            Ok(Value::from(words.filter(|word| !word.is_empty()).count()))
        }
        _ => xmlattr(value, args).map(Value::from),
    }
}
