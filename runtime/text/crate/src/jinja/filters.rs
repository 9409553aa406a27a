//! The filters and functions of jinja2 except `random`, `urlize`, `wordwrap` and `lipsum`, and the additions of
//! transformers.
//!
//! `from_json` comes from llama.cpp, whose templates of DeepSeek V4 parse arguments with it.

use super::operators::binary;
use super::text::*;
use super::values::*;
use crate::python_json;
use minijinja::filters as library_filters;
use minijinja::value::{Kwargs, Rest, Serde, ValueKind, ValueOrKwargs};
use minijinja::{Environment, State, Value};
use std::cmp::Ordering;

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
    /// Its name in the environment, which no template can spell.
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

/// The last five are built into minijinja's VM and are not in the environment.
pub const FUNCTIONS: [&str; 11] = [
    "cycler",
    "dict",
    "joiner",
    "namespace",
    "raise_exception",
    "range",
    "strftime_now",
    "caller",
    "loop",
    "self",
    "super",
];

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
    env.add_function("range", |numbers: Rest<Value>| range(&numbers));
    env.add_function("dict", |args: Rest<ValueOrKwargs>| mapping(&args.into_values()));
    env.add_function("namespace", minijinja::functions::namespace);
    env.add_function("cycler", |items: Rest<Value>| minijinja_contrib::globals::cycler(items.0));
    env.add_function("joiner", minijinja_contrib::globals::joiner);
    env.add_function("strftime_now", |format: &str| now(format));
    env.add_function("raise_exception", |message: &Value| -> Result<Value> { Err(fail(text(message)?.into_owned())) });
}

/// The local time, formatted by strftime.
pub fn now(format: &str) -> Result<String> {
    let fail = |why: &str| fail(format!("strftime_now: {why}"));
    let format = std::ffi::CString::new(format).map_err(|_| fail("the format has a zero byte"))?;
    let mut buffer = [0u8; 1024];
    // SAFETY: all pointers refer to live locals of the right size; strftime writes at most
    // buffer.len() bytes and returns how many.
    let written = unsafe {
        let now = libc::time(std::ptr::null_mut());
        let mut parts: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&now, &mut parts).is_null() {
            return Err(fail("no local time"));
        }
        libc::strftime(buffer.as_mut_ptr().cast(), buffer.len(), format.as_ptr(), &parts)
    };
    Ok(String::from_utf8_lossy(&buffer[..written]).into_owned())
}

fn range(numbers: &[Value]) -> Result<Value> {
    const LONGEST: i128 = 100_000;
    let numbers: Vec<i128> = numbers.iter().map(int).collect::<Result<_>>()?;
    let (start, stop, step) = match numbers[..] {
        [stop] => (0, stop, 1),
        [start, stop] => (start, stop, 1),
        [start, stop, step] => (start, stop, step),
        _ => return Err(fail(format!("range expected 1 to 3 arguments, got {}", numbers.len()))),
    };
    if step == 0 {
        return Err(fail("range() arg 3 must not be zero"));
    }
    let distance = if step > 0 { stop.saturating_sub(start) } else { start.saturating_sub(stop) };
    let unit = step.saturating_abs();
    let count = distance.max(0).saturating_add(unit - 1) / unit;
    if count > LONGEST {
        return Err(fail(format!("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({LONGEST}).")));
    }
    let items = (0..count).map(|i| integer(start + i * step)).collect();
    let shown = if step == 1 { String::new() } else { format!(", {step}") };
    Ok(Value::from_object(View { name: format!("range({start}, {stop}{shown})").into(), items }))
}

/// `dict(...)`: from a mapping or from pairs, and from keywords.
fn mapping(args: &[Value]) -> Result<Value> {
    let (positional, named) = split(args);
    let mut all = match positional {
        [] => Vec::new(),
        [map] if map.kind() == ValueKind::Map => pairs(map)?,
        [other] => items(other)?.iter().map(pair).collect::<Result<_>>()?,
        _ => return Err(fail(format!("dict expected at most 1 argument, got {}", positional.len()))),
    };
    all.extend(pairs(named)?);
    Ok(Value::from_pairs(all))
}

fn pair(value: &Value) -> Result<(Value, Value)> {
    match &items(value)?[..] {
        [key, value] => Ok((key.clone(), value.clone())),
        other => Err(fail(format!("a pair has 2 elements, not {}", other.len()))),
    }
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

fn absolute(value: &Value) -> Result<Value> {
    undefined(value)?;
    match Number::of(value) {
        Some(Number::Int(i)) => Ok(integer(i.abs())),
        Some(Number::Float(x)) => Ok(Value::from(x.abs())),
        None => Err(fail(format!("bad operand type for abs(): '{}'", type_name(value)))),
    }
}

/// The parts of an attribute path such as "user.names.0".
fn path(attribute: &Value) -> Vec<Value> {
    match attribute.as_str() {
        Some(text) => text
            .split('.')
            .map(|part| match part.parse::<i128>() {
                Ok(index) if part.chars().all(|c| c.is_ascii_digit()) => integer(index),
                _ => Value::from(part),
            })
            .collect(),
        None => vec![attribute.clone()],
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

/// The values by which items are compared, joined or summed: the items themselves, or one of their attributes.
fn keys(
    items: Vec<Value>,
    attribute: &Option<Value>,
    default: Option<&Value>,
    case_sensitive: bool,
) -> Result<Vec<Value>> {
    let path = match attribute.as_ref().filter(|attribute| !attribute.is_none()) {
        None => Vec::new(),
        Some(attribute) => path(attribute),
    };
    items.iter().map(|item| Ok(folded(look_up(item, &path, default)?, case_sensitive))).collect()
}

/// minijinja names groups in lower case; jinja2 uses the spelling of the first member.
fn regrouped(groups: Value, args: &[Value]) -> Result<Value> {
    let [attribute, default, _] = bind("groupby", args, ["attribute", "default", "case_sensitive"])?;
    let path = path(&required(attribute, "groupby", "attribute")?);
    let default = given(default);
    let named = |pair: Value| {
        let members = pair.get_item_by_index(1)?;
        let first = members.get_item_by_index(0)?;
        Ok(group(look_up(&first, &path, default.as_ref())?, list(items(&members)?)))
    };
    Ok(list(items(&groups)?.into_iter().map(named).collect::<Result<_>>()?))
}

fn extreme(name: &str, value: &Value, args: &[Value]) -> Result<Value> {
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

fn map(state: &mut State, value: &Value, args: &[Value]) -> Result<Value> {
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

fn select(state: &mut State, name: &str, value: &Value, args: &[Value]) -> Result<Value> {
    if !value.is_true() {
        return Ok(generator(Vec::new()));
    }
    let wanted = name.starts_with("select");
    let (attribute, rest) = match args {
        [first, rest @ ..] if name.ends_with("attr") => (path(first), rest),
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

fn title_words(text: &str) -> String {
    let mut out = String::new();
    let mut begins = true;
    for c in text.chars() {
        let splits = is_space(c) || "-({[<".contains(c);
        match begins && !splits {
            true => out.extend(c.to_uppercase()),
            false => out.extend(c.to_lowercase()),
        }
        begins = splits;
    }
    out
}

fn to_int(value: &Value, args: &[Value]) -> Result<Value> {
    let [default, base] = bind("int", args, ["default", "base"])?;
    let default = default.unwrap_or(integer(0));
    let base = base.map_or(Ok(10), |base| int(&base))?;
    let truncated = |x: f64| -> Result<Option<i128>> {
        match x.is_infinite() {
            true => Err(fail("cannot convert float infinity to integer")),
            false => Ok((!x.is_nan()).then_some(x.trunc() as i128)),
        }
    };
    undefined(value)?;
    let found = match (value.as_str(), Number::of(value)) {
        (Some(text), _) => match parse_int(text, base as u32) {
            Some(i) => Some(i),
            None => parse_float(text).filter(|x| x.is_finite()).map(|x| x.trunc() as i128),
        },
        (_, Some(Number::Int(i))) => Some(i),
        (_, Some(Number::Float(x))) => truncated(x)?,
        _ => None,
    };
    Ok(found.map_or(default, integer))
}

fn to_float(value: &Value, args: &[Value]) -> Result<Value> {
    let [default] = bind("float", args, ["default"])?;
    undefined(value)?;
    let found = match value.as_str() {
        Some(text) => parse_float(text),
        None => Number::of(value).map(Number::float),
    };
    Ok(found.map_or_else(|| default.unwrap_or(Value::from(0.0)), Value::from))
}

fn round(value: &Value, args: &[Value]) -> Result<Value> {
    let [precision, method] = bind("round", args, ["precision", "method"])?;
    let precision = precision.map_or(Ok(0), |precision| int(&precision))?.clamp(-400, 400) as i32;
    let method = method.map_or(Ok("common".to_owned()), |method| text(&method).map(|method| method.into_owned()))?;
    undefined(value)?;
    let Some(number) = Number::of(value) else {
        return Err(fail(format!("type {} doesn't define __round__ method", type_name(value))));
    };
    let x = number.float();
    let whole = if let Number::Int(i) = number { Some(i) } else { None };
    let scale = 10f64.powi(precision);
    match (method.as_str(), whole) {
        ("common", Some(i)) if precision >= 0 => Ok(integer(i)),
        ("common", Some(i)) => {
            let unit = 10i128.checked_pow(precision.unsigned_abs()).unwrap_or(i128::MAX);
            let (low, rest) = (i.div_euclid(unit), i.rem_euclid(unit));
            let up = match (rest.saturating_mul(2)).cmp(&unit) {
                Ordering::Less => 0,
                Ordering::Greater => 1,
                Ordering::Equal => low & 1,
            };
            Ok(integer((low + up).saturating_mul(unit)))
        }
        ("common", None) if !x.is_finite() => Ok(Value::from(x)),
        ("common", None) if precision >= 0 => {
            let places = precision as usize;
            Ok(Value::from(format!("{x:.places$}").parse().unwrap_or(x)))
        }
        ("common", None) => Ok(Value::from((x * scale).round_ties_even() / scale)),
        ("ceil", _) => Ok(Value::from((x * scale).ceil() / scale)),
        ("floor", _) => Ok(Value::from((x * scale).floor() / scale)),
        _ => Err(fail("method must be common, ceil or floor")),
    }
}

fn indent(value: &Value, args: &[Value]) -> Result<Value> {
    let [width, first, blank] = bind("indent", args, ["width", "first", "blank"])?;
    undefined(value)?;
    let text = string(value)?;
    let before = match &width {
        None => " ".repeat(4),
        Some(width) => match width.as_str() {
            Some(text) => text.to_owned(),
            None => " ".repeat(size(width)?),
        },
    };
    let text = format!("{text}\n");
    let mut out = String::new();
    for (i, line) in splitlines(&text, false).into_iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        let indents = if i == 0 { truth(&first) } else { truth(&blank) || !line.is_empty() };
        if indents {
            out += &before;
        }
        out += line;
    }
    Ok(if value.is_safe() { Value::from_safe_string(out) } else { Value::from(out) })
}

/// Quotes a path, or a part of a query, as urllib does.
fn quoted(value: &Value, query: bool) -> Result<String> {
    let mut out = String::new();
    for byte in text(value)?.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => out.push(byte as char),
            b'/' if !query => out.push('/'),
            b' ' if query => out.push('+'),
            other => out += &format!("%{other:02X}"),
        }
    }
    Ok(out)
}

fn urlencode(value: &Value, args: &[Value]) -> Result<String> {
    let [] = bind("urlencode", args, [])?;
    let all: Vec<(Value, Value)> = match value.kind() {
        ValueKind::Map => pairs(value)?,
        ValueKind::Seq | ValueKind::Iterable => items(value)?.iter().map(pair).collect::<Result<_>>()?,
        _ => return quoted(value, false),
    };
    let part = |(key, value): &(Value, Value)| Ok(format!("{}={}", quoted(key, true)?, quoted(value, true)?));
    Ok(all.iter().map(part).collect::<Result<Vec<_>>>()?.join("&"))
}

fn xmlattr(value: &Value, args: &[Value]) -> Result<String> {
    let [autospace] = bind("xmlattr", args, ["autospace"])?;
    if value.kind() != ValueKind::Map {
        return Err(fail("xmlattr needs a mapping"));
    }
    let mut parts = Vec::new();
    for (key, value) in pairs(value)?.iter().filter(|(_, value)| !value.is_none() && !value.is_undefined()) {
        if text(key)?.contains(|c: char| c.is_ascii_whitespace() || "/>=".contains(c)) {
            return Err(fail(format!("Invalid character in attribute name: {}", repr(key)?)));
        }
        parts.push(format!("{}=\"{}\"", escaped(key)?, escaped(value)?));
    }
    let space = if autospace.is_none_or(|value| value.is_true()) && !parts.is_empty() { " " } else { "" };
    Ok(space.to_owned() + &parts.join(" "))
}

/// `int(text, base)`.
pub fn parse_int(text: &str, base: u32) -> Option<i128> {
    let trimmed = text.trim_matches(is_space);
    let (negative, digits) = match trimmed.strip_prefix(['-', '+']) {
        Some(rest) => (trimmed.starts_with('-'), rest),
        None => (false, trimmed),
    };
    let lower = digits.to_ascii_lowercase();
    let prefixed =
        |prefix: &str| lower.strip_prefix(prefix).map(|rest| rest.strip_prefix('_').unwrap_or(rest).to_owned());
    let (base, digits) = match base {
        0 => match (prefixed("0x"), prefixed("0o"), prefixed("0b")) {
            (Some(rest), _, _) => (16, rest),
            (_, Some(rest), _) => (8, rest),
            (_, _, Some(rest)) => (2, rest),
            _ => (10, lower),
        },
        16 => (16, prefixed("0x").unwrap_or(lower)),
        8 => (8, prefixed("0o").unwrap_or(lower)),
        2 => (2, prefixed("0b").unwrap_or(lower)),
        base => (base, lower),
    };
    if !(2..=36).contains(&base)
        || digits.is_empty()
        || digits.starts_with('_')
        || digits.ends_with('_')
        || digits.contains("__")
    {
        return None;
    }
    let digits: String = digits.chars().filter(|c| *c != '_').map(ascii_digit).collect();
    if !digits.chars().all(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    i128::from_str_radix(&digits, base).ok().map(|n| if negative { -n } else { n })
}

/// Digits of other scripts have their numeric value.
fn ascii_digit(c: char) -> char {
    use unicode_categories::UnicodeCategories;
    if c.is_ascii() || !c.is_number_decimal_digit() {
        return c;
    }
    // The ten digits of a script are contiguous and begin with zero.
    let value =
        (1..10).take_while(|n| char::from_u32(c as u32 - n).is_some_and(|d| d.is_number_decimal_digit())).count();
    char::from_digit((value % 10) as u32, 10).unwrap_or(c)
}

/// `float(text)`.
pub fn parse_float(text: &str) -> Option<f64> {
    let trimmed = text.trim_matches(is_space);
    let lower = trimmed.to_ascii_lowercase();
    match lower.trim_start_matches(['+', '-']) {
        "inf" | "infinity" | "nan" => return lower.parse().ok(),
        _ => {}
    }
    let valid = !trimmed.is_empty()
        && trimmed.chars().all(|c| c.is_ascii_digit() || "+-.eE_".contains(c))
        && !trimmed.starts_with('_')
        && !trimmed.ends_with('_')
        && !trimmed.contains("__");
    if !valid {
        return None;
    }
    trimmed.replace('_', "").parse().ok()
}
