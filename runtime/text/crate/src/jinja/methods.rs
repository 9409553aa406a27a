//! The methods of Python's types that the sandbox lets a template call.

use super::formats::{format_map, str_format};
use super::text::*;
use super::values::*;
use minijinja::value::{Object, ObjectRepr, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use std::sync::Arc;

/// The methods of each type: their names, and the filters that replace `value.name` without a call (lower.rs).
macro_rules! methods {
    ($($table:ident: $($name:literal)*;)*) => {
        $(const $table: &[(&str, &str)] = &[$(($name, concat!(".", $name))),*];)*
    };
}

methods! {
    STR: "capitalize" "casefold" "center" "count" "endswith" "expandtabs" "find" "format" "format_map" "index" "isalnum"
        "isalpha" "isascii" "isdecimal" "isdigit" "isidentifier" "islower" "isnumeric" "isprintable" "isspace" "istitle"
        "isupper" "join" "ljust" "lower" "lstrip" "partition" "removeprefix" "removesuffix" "replace" "rfind" "rindex"
        "rjust" "rpartition" "rsplit" "rstrip" "split" "splitlines" "startswith" "strip" "swapcase" "title" "upper" "zfill";
    LIST: "copy" "count" "index";
    CHANGES: "append" "extend" "insert" "pop";
    TUPLE: "count" "index";
    DICT: "copy" "fromkeys" "get" "items" "keys" "values";
    INT: "as_integer_ratio" "bit_count" "bit_length" "conjugate" "is_integer";
    FLOAT: "conjugate" "is_integer";
    OTHERS: "cycle" "changed" "next";
}

const ALL: [&[(&str, &str)]; 8] = [STR, LIST, TUPLE, DICT, INT, FLOAT, CHANGES, OTHERS];

/// Returns whether any type has a method of this name.
pub fn exists(name: &str) -> bool {
    ALL.iter().any(|table| table.iter().any(|(known, _)| *known == name))
}

/// Returns the filter that replaces `value.name` if any type has a method of this name. Attributes take precedence over
/// keys.
pub fn attribute(name: &str) -> Option<&'static str> {
    ALL[..6].iter().find_map(|table| table.iter().find(|(known, _)| *known == name)).map(|(_, filter)| *filter)
}

fn has(value: &Value, name: &str) -> bool {
    let table = match value.kind() {
        ValueKind::String => STR,
        ValueKind::Seq if value.is_tuple() => TUPLE,
        ValueKind::Seq => LIST,
        ValueKind::Map if is_dict(value) => DICT,
        ValueKind::Bool => INT,
        ValueKind::Number if value.is_integer() => INT,
        ValueKind::Number => FLOAT,
        _ => &[],
    };
    table.iter().any(|(known, _)| *known == name)
}

/// Returns whether the value is a dict. Namespaces and modules are not, because the template has set their attributes.
fn is_dict(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|object| object.type_name().contains("IndexMap") || !object.type_name().contains("minijinja"))
}

/// A method that is read without being called: `{% if x.items %}`.
#[derive(Debug)]
struct Bound(Value, &'static str);

impl Object for Bound {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
    fn call(self: &Arc<Self>, state: &mut State, args: &[Value]) -> Result<Value> {
        call(state, &self.0, self.1, args)
    }
}

pub fn add_to(env: &mut Environment<'static>) {
    for (name, filter) in ALL[..6].iter().copied().flatten() {
        env.add_filter(*filter, move |value: &Value| bound(value, name));
    }
    env.add_filter("[.]", |value: &Value, name: &str| match value.get_item(&Value::from(name))? {
        found if found.is_undefined() => bound(value, name),
        found => Ok(found),
    });
}

/// Evaluates `value.name` as in jinja2: a method, or otherwise the member with that key.
pub fn bound(value: &Value, name: &str) -> Result<Value> {
    undefined(value)?;
    let known = ALL[..6].iter().copied().flatten().find(|(known, _)| *known == name);
    match known.filter(|_| has(value, name)) {
        Some((name, _)) => Ok(Value::from_object(Bound(value.clone(), name))),
        None => value.get_attr(name),
    }
}

/// Jinja's filter `attr`. It is like `value.name`, but on a mapping it finds only methods, never a member of that name.
pub fn attr(value: &Value, name: &str) -> Value {
    match value.kind() == ValueKind::Map && !has(value, name) {
        true => Value::UNDEFINED,
        false => bound(value, name).unwrap_or_default(),
    }
}

/// minijinja calls this for methods that its own objects do not have.
pub fn call(_: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value> {
    undefined(value)?;
    if name == "fromkeys" && (value.kind() == ValueKind::Plain || has(value, name)) {
        return from_keys(args);
    }
    if CHANGES.iter().any(|(known, _)| *known == name) && value.kind() == ValueKind::Seq {
        let why = || fail(format!("{name}() can change only lists that the template created"));
        return change(value.downcast_object_ref::<List>().ok_or_else(why)?, name, args);
    }
    if !has(value, name) {
        return Err(Error::from(ErrorKind::UnknownMethod));
    }
    match value.kind() {
        ValueKind::String => of_str(value, name, args),
        ValueKind::Seq => of_seq(value, name, args),
        ValueKind::Map => of_dict(value, name, args),
        _ => of_number(value, name, args),
    }
}

/// Calls a method of str. Methods of markup return markup, and their arguments are escaped.
fn of_str(value: &Value, name: &str, args: &[Value]) -> Result<Value> {
    let text = string(value)?;
    if !value.is_safe() {
        return of_text(text, name, args);
    }
    let escapes = matches!(name, "format" | "join" | "replace" | "center" | "ljust" | "rjust");
    let escape = |arg: &Value| match arg.kind() {
        ValueKind::String if escapes => escaped(arg).map(Value::from),
        ValueKind::Seq if escapes && name == "join" => {
            items(arg)?.iter().map(|item| escaped(item).map(Value::from)).collect::<Result<Vec<_>>>().map(list)
        }
        _ => Ok(arg.clone()),
    };
    let args = args.iter().map(escape).collect::<Result<Vec<_>>>()?;
    let safe = |value: &Value| match value.as_str() {
        Some(text) => Value::from_safe_string(text.to_owned()),
        None => value.clone(),
    };
    let found = of_text(text, name, &args)?;
    Ok(match found.kind() {
        ValueKind::Seq if found.is_tuple() => tuple(items(&found)?.iter().map(safe).collect()),
        ValueKind::Seq => list(items(&found)?.iter().map(safe).collect()),
        _ => safe(&found),
    })
}

/// Returns the part of a text between `start` and `end`, in characters, and the index of its first character.
fn bounded<'a>(text: &'a str, start: &Option<Value>, end: &Option<Value>) -> Result<Option<(&'a str, usize)>> {
    let length = text.chars().count() as i128;
    let place = |value: &Option<Value>, default: i128| match value {
        None => Ok(default),
        Some(value) => int(value).map(|n| if n < 0 { (n + length).max(0) } else { n }),
    };
    let (start, end) = (place(start, 0)?, place(end, length)?.min(length));
    if start > end {
        return Ok(None);
    }
    let byte = |n: i128| text.char_indices().nth(n as usize).map_or(text.len(), |(at, _)| at);
    Ok(Some((&text[byte(start)..byte(end)], start as usize)))
}

fn count_of(text: &str, piece: &str) -> usize {
    if piece.is_empty() {
        text.chars().count() + 1
    } else {
        text.matches(piece).count()
    }
}

fn find(text: &str, name: &str, args: &[Value]) -> Result<Value> {
    let [piece, start, end] = bind(name, args, ["sub", "start", "end"])?;
    let piece = required(piece, name, "sub")?;
    let piece = string(&piece)?;
    let part = bounded(text, &start, &end)?;
    if name == "count" {
        return Ok(integer(part.map_or(0, |(part, _)| count_of(part, piece)) as i128));
    }
    let found = part.and_then(|(part, from)| {
        let at = if name.starts_with('r') { part.rfind(piece)? } else { part.find(piece)? };
        Some((from + part[..at].chars().count()) as i128)
    });
    match found {
        Some(at) => Ok(integer(at)),
        None if name.ends_with("find") => Ok(integer(-1)),
        None => Err(fail("substring not found")),
    }
}

fn starts_or_ends(text: &str, name: &str, args: &[Value]) -> Result<Value> {
    let [pieces, start, end] = bind(name, args, ["prefix", "start", "end"])?;
    let pieces = required(pieces, name, "prefix")?;
    let part = bounded(text, &start, &end)?;
    let holds = |piece: &str| match part {
        None => false,
        Some((part, _)) if name == "startswith" => part.starts_with(piece),
        Some((part, _)) => part.ends_with(piece),
    };
    match pieces.as_str() {
        Some(piece) => Ok(Value::from(holds(piece))),
        None if pieces.is_tuple() => {
            let pieces = items(&pieces)?;
            let pieces: Vec<&str> = pieces.iter().map(string).collect::<Result<_>>()?;
            Ok(Value::from(pieces.into_iter().any(holds)))
        }
        None => Err(fail(format!("{name} first arg must be str or a tuple of str, not {}", type_name(&pieces)))),
    }
}

fn stripped(text: &str, name: &str, args: &[Value]) -> Result<String> {
    let [chars] = bind(name, args, ["chars"])?;
    let set: Option<Vec<char>> = match &given(chars) {
        None => None,
        Some(chars) => Some(string(chars)?.chars().collect()),
    };
    let strips = |c: char| set.as_ref().map_or_else(|| is_space(c), |set| set.contains(&c));
    let text = if name == "rstrip" { text } else { text.trim_start_matches(strips) };
    Ok(if name == "lstrip" { text } else { text.trim_end_matches(strips) }.to_owned())
}

fn split(text: &str, name: &str, args: &[Value]) -> Result<Value> {
    let [sep, most] = bind(name, args, ["sep", "maxsplit"])?;
    let most = most.map_or(Ok(-1), |most| int(&most))?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let sep = given(sep);
    let parts: Vec<&str> = match (&sep, name) {
        (None, "split") => split_blanks(text, most),
        (None, _) => rsplit_blanks(text, most),
        (Some(sep), _) => {
            let sep = string(sep)?;
            if sep.is_empty() {
                return Err(fail("empty separator"));
            }
            match name {
                "split" => text.splitn(most.saturating_add(1), sep).collect(),
                _ => {
                    let mut parts: Vec<&str> = text.rsplitn(most.saturating_add(1), sep).collect();
                    parts.reverse();
                    parts
                }
            }
        }
    };
    Ok(list(parts.into_iter().map(Value::from).collect()))
}

fn partition(text: &str, name: &str, args: &[Value]) -> Result<Value> {
    let sep = one(name, args, "sep")?;
    let sep = string(&sep)?;
    if sep.is_empty() {
        return Err(fail("empty separator"));
    }
    let found = if name == "partition" { text.find(sep) } else { text.rfind(sep) };
    let parts = match found {
        Some(at) => [&text[..at], sep, &text[at + sep.len()..]],
        None if name == "partition" => [text, "", ""],
        None => ["", "", text],
    };
    Ok(tuple(parts.into_iter().map(Value::from).collect()))
}

fn replaced(text: &str, args: &[Value]) -> Result<String> {
    let [old, new, count] = bind("replace", args, ["old", "new", "count"])?;
    let (old, new) = (required(old, "replace", "old")?, required(new, "replace", "new")?);
    let count = count.map_or(Ok(-1), |count| int(&count))?;
    replace(text, string(&old)?, string(&new)?, count)
}

pub fn replace(text: &str, old: &str, new: &str, count: i128) -> Result<String> {
    let times = count_of(text, old).min(usize::try_from(count).unwrap_or(usize::MAX));
    let grows = times.saturating_mul(new.len().saturating_sub(old.len()));
    if grows > 64 << 20 {
        return Err(fail("replace() would produce too long a text"));
    }
    Ok(text.replacen(old, new, times))
}

fn justified(text: &str, name: &str, args: &[Value]) -> Result<String> {
    let [width, fill] = bind(name, args, ["width", "fillchar"])?;
    let width = size(&required(width, name, "width")?)?;
    let fill = fill.map_or_else(|| Ok(" ".to_owned()), |fill| string(&fill).map(ToOwned::to_owned))?;
    let mut chars = fill.chars();
    let (Some(fill), None) = (chars.next(), chars.next()) else {
        return Err(fail("The fill character must be exactly one character long"));
    };
    let room: String = std::iter::repeat_n(fill, width.saturating_sub(text.chars().count())).collect();
    Ok(match name {
        "center" => center(text, width, fill),
        "ljust" => text.to_owned() + &room,
        _ => room + text,
    })
}

fn joined(text: &str, args: &[Value]) -> Result<String> {
    let items = items(&one("join", args, "iterable")?)?;
    let mut parts = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        parts.push(
            item.as_str()
                .ok_or_else(|| fail(format!("sequence item {i}: expected str instance, {} found", type_name(item))))?,
        );
    }
    Ok(parts.join(text))
}

fn of_text(text: &str, name: &str, args: &[Value]) -> Result<Value> {
    let all = |holds: fn(char) -> bool| {
        bind(name, args, [])?;
        Ok(Value::from(!text.is_empty() && text.chars().all(holds)))
    };
    let changed = |change: &dyn Fn(&str) -> String| {
        bind(name, args, [])?;
        Ok(Value::from(change(text)))
    };
    match name {
        "lower" => changed(&|text| text.to_lowercase()),
        "upper" => changed(&|text| text.to_uppercase()),
        "title" => changed(&title),
        "capitalize" => changed(&capitalize),
        "swapcase" => changed(&swapcase),
        "casefold" => changed(&casefold),
        "isalpha" => all(is_alpha),
        "isalnum" => all(|c| is_alpha(c) || is_numeric(c)),
        "isdecimal" => all(is_decimal),
        "isdigit" => all(is_digit),
        "isnumeric" => all(is_numeric),
        "isspace" => all(is_space),
        "isascii" => bind(name, args, []).map(|[]| Value::from(text.is_ascii())),
        "isprintable" => bind(name, args, []).map(|[]| Value::from(printable(text))),
        "islower" => {
            bind(name, args, []).map(|[]| Value::from(all_cased(text, char::is_lowercase, char::is_uppercase)))
        }
        "isupper" => {
            bind(name, args, []).map(|[]| Value::from(all_cased(text, char::is_uppercase, char::is_lowercase)))
        }
        "istitle" => bind(name, args, []).map(|[]| Value::from(is_title(text))),
        "isidentifier" => {
            let first = |c: char| c == '_' || is_alpha(c);
            let valid = text.chars().next().is_some_and(first) && text.chars().all(|c| first(c) || is_decimal(c));
            bind(name, args, []).map(|[]| Value::from(valid))
        }
        "count" | "find" | "rfind" | "index" | "rindex" => find(text, name, args),
        "startswith" | "endswith" => starts_or_ends(text, name, args),
        "strip" | "lstrip" | "rstrip" => stripped(text, name, args).map(Value::from),
        "split" | "rsplit" => split(text, name, args),
        "partition" | "rpartition" => partition(text, name, args),
        "splitlines" => {
            let [keep] = bind(name, args, ["keepends"])?;
            let keep = truth(&keep);
            Ok(list(splitlines(text, keep).into_iter().map(Value::from).collect()))
        }
        "replace" => replaced(text, args).map(Value::from),
        "removeprefix" => {
            let prefix = one(name, args, "prefix")?;
            Ok(Value::from(text.strip_prefix(string(&prefix)?).unwrap_or(text)))
        }
        "removesuffix" => {
            let suffix = one(name, args, "suffix")?;
            Ok(Value::from(text.strip_suffix(string(&suffix)?).unwrap_or(text)))
        }
        "center" | "ljust" | "rjust" => justified(text, name, args).map(Value::from),
        "zfill" => Ok(Value::from(zfill(text, size(&one(name, args, "width")?)?))),
        "expandtabs" => {
            let [tab] = bind(name, args, ["tabsize"])?;
            Ok(Value::from(expand_tabs(text, tab.map_or(Ok(8), |tab| size(&tab))?)))
        }
        "join" => joined(text, args).map(Value::from),
        "format" => str_format(text, args).map(Value::from),
        "format_map" => format_map(text, &one(name, args, "mapping")?).map(Value::from),
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

fn of_seq(this: &Value, name: &str, args: &[Value]) -> Result<Value> {
    let items = items(this)?;
    match name {
        "copy" => bind(name, args, []).map(|[]| list(items)),
        "count" => {
            let wanted = one(name, args, "value")?;
            Ok(Value::from(items.iter().filter(|item| **item == wanted).count()))
        }
        _ => {
            let [wanted, start, stop] = bind(name, args, ["value", "start", "stop"])?;
            let wanted = required(wanted, name, "value")?;
            let length = items.len() as i128;
            let place = |value: Option<Value>, default: i128| match value {
                None => Ok(default),
                Some(value) => int(&value).map(|n| if n < 0 { (n + length).max(0) } else { n.min(length) }),
            };
            let (start, stop) = (place(start, 0)? as usize, place(stop, length)? as usize);
            let within = items.get(start..stop).unwrap_or(&[]);
            match within.iter().position(|item| *item == wanted) {
                Some(at) => Ok(Value::from(start + at)),
                None => Err(fail(format!("{} is not in {}", repr(&wanted)?, type_name(this)))),
            }
        }
    }
}

fn change(made: &List, name: &str, args: &[Value]) -> Result<Value> {
    let length = made.items().len() as i128;
    let place = |value: &Value| int(value).map(|at| if at < 0 { at + length } else { at });
    match name {
        "append" => {
            let object = one(name, args, "object")?;
            made.items().push(object);
        }
        "extend" => {
            let more = items(&one(name, args, "iterable")?)?;
            made.items().extend(more);
        }
        "insert" => {
            let [at, object] = bind(name, args, ["index", "object"])?;
            let at = place(&required(at, name, "index")?)?.clamp(0, length) as usize;
            made.items().insert(at, required(object, name, "object")?);
        }
        _ => {
            let [at] = bind(name, args, ["index"])?;
            let at = place(&at.unwrap_or(Value::from(-1)))?;
            return match (0..length).contains(&at) {
                true => Ok(made.items().remove(at as usize)),
                false => Err(fail("pop index out of range")),
            };
        }
    }
    Ok(Value::from(()))
}

fn of_dict(map: &Value, name: &str, args: &[Value]) -> Result<Value> {
    let view = |name: &'static str, items| Value::from_object(View { name: name.into(), items });
    if name == "get" {
        let [key, default] = bind(name, args, ["key", "default"])?;
        let found = map.as_object().and_then(|object| Some(object.get_value(key.as_ref()?)));
        let found = found.ok_or_else(|| fail("get() missing 1 required argument: 'key'"))?;
        return Ok(found.or(default).unwrap_or(Value::from(())));
    }
    let [] = bind(name, args, [])?;
    Ok(match name {
        "keys" => view("dict_keys", items(map)?),
        "values" => view("dict_values", pairs(map)?.into_iter().map(|(_, value)| value).collect()),
        "items" => view("dict_items", pairs(map)?.into_iter().map(|(key, value)| tuple(vec![key, value])).collect()),
        _ => Value::from_pairs(pairs(map)?),
    })
}

fn from_keys(args: &[Value]) -> Result<Value> {
    let [keys, value] = bind("fromkeys", args, ["iterable", "value"])?;
    let value = value.unwrap_or(Value::from(()));
    let keys = items(&required(keys, "fromkeys", "iterable")?)?;
    Ok(Value::from_pairs(keys.into_iter().map(|key| (key, value.clone()))))
}

fn of_number(this: &Value, name: &str, args: &[Value]) -> Result<Value> {
    let [] = bind(name, args, [])?;
    Ok(match (Number::of(this), name) {
        (Some(Number::Int(_)), "is_integer") => Value::from(true),
        (Some(Number::Int(i)), "bit_length") => Value::from(128 - i.unsigned_abs().leading_zeros()),
        (Some(Number::Int(i)), "bit_count") => Value::from(i.unsigned_abs().count_ones()),
        (Some(Number::Int(i)), "as_integer_ratio") => tuple(vec![integer(i), integer(1)]),
        (Some(Number::Int(i)), _) => integer(i),
        (Some(Number::Float(x)), "is_integer") => Value::from(x.is_finite() && x.fract() == 0.0),
        _ => this.clone(),
    })
}
