//! Filters that write text: title case, indentation, URLs, attributes.

use crate::jinja::functions::pair;
use crate::jinja::text::*;
use crate::jinja::values::*;
use minijinja::value::ValueKind;
use minijinja::Value;

pub fn title_words(text: &str) -> String {
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

pub fn indent(value: &Value, args: &[Value]) -> Result<Value> {
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

pub fn urlencode(value: &Value, args: &[Value]) -> Result<String> {
    let [] = bind("urlencode", args, [])?;
    let all: Vec<(Value, Value)> = match value.kind() {
        ValueKind::Map => pairs(value)?,
        ValueKind::Seq | ValueKind::Iterable => items(value)?.iter().map(pair).collect::<Result<_>>()?,
        _ => return quoted(value, false),
    };
    let part = |(key, value): &(Value, Value)| Ok(format!("{}={}", quoted(key, true)?, quoted(value, true)?));
    Ok(all.iter().map(part).collect::<Result<Vec<_>>>()?.join("&"))
}

pub fn xmlattr(value: &Value, args: &[Value]) -> Result<String> {
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
