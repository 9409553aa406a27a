//! json.dumps as in Python, with separators ", " and ": ", without HTML escapes, and with non-ASCII characters as they
//! are.

use crate::jinja::values::*;
use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

struct Writer {
    indent: Option<String>,
    ensure_ascii: bool,
    sort_keys: bool,
    item: String,
    key: String,
    out: String,
}

/// Implements the `tojson` filter of transformers.
pub fn filter(value: &Value, args: &[Value]) -> Result<String> {
    let [ensure_ascii, indent, separators, sort_keys] =
        bind("tojson", args, ["ensure_ascii", "indent", "separators", "sort_keys"])?;
    let indent = match given(indent) {
        None => None,
        Some(indent) => Some(match indent.as_str() {
            Some(text) => text.to_owned(),
            None => " ".repeat(size(&indent)?),
        }),
    };
    let (item, key) = match given(separators) {
        None => (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()),
        Some(pair) => match &items(&pair)?[..] {
            [item, key] => (text(item)?.into_owned(), text(key)?.into_owned()),
            _ => return Err(fail("tojson: separators must be a pair")),
        },
    };
    let (ensure_ascii, sort_keys) = (truth(&ensure_ascii), truth(&sort_keys));
    let mut writer = Writer { indent, ensure_ascii, sort_keys, item, key, out: String::new() };
    writer.value(value, 0)?;
    Ok(writer.out)
}

fn float(x: f64) -> String {
    match x {
        x if x.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        x => float_repr(x),
    }
}

impl Writer {
    fn line(&mut self, depth: usize) {
        if let Some(indent) = &self.indent {
            self.out.push('\n');
            self.out.push_str(&indent.repeat(depth));
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                c if (c as u32) < 0x20 || (self.ensure_ascii && (c as u32) > 0x7e) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        self.out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    fn items(&mut self, value: &Value, depth: usize) -> Result<()> {
        self.out.push('[');
        let mut count = 0;
        for item in value.try_iter()? {
            if count > 0 {
                self.out.push_str(&self.item);
            }
            count += 1;
            self.line(depth + 1);
            self.value(&item, depth + 1)?;
        }
        if count > 0 {
            self.line(depth);
        }
        self.out.push(']');
        Ok(())
    }

    fn map(&mut self, value: &Value, depth: usize) -> Result<()> {
        let mut keys: Vec<Value> = value.try_iter()?.collect();
        if self.sort_keys {
            keys.sort();
        }
        self.out.push('{');
        for (i, key) in keys.iter().enumerate() {
            if i > 0 {
                self.out.push_str(&self.item);
            }
            self.line(depth + 1);
            match (key.as_str(), key.kind()) {
                (Some(text), _) => self.string(text),
                (None, ValueKind::Bool | ValueKind::None | ValueKind::Number) => {
                    self.out.push('"');
                    self.value(key, depth + 1)?;
                    self.out.push('"');
                }
                _ => return Err(Error::new(ErrorKind::BadSerialization, "tojson: a key must be a string")),
            }
            self.out.push_str(&self.key);
            self.value(&value.get_item(key)?, depth + 1)?;
        }
        if !keys.is_empty() {
            self.line(depth);
        }
        self.out.push('}');
        Ok(())
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<()> {
        if depth > DEEPEST {
            return Err(Error::new(ErrorKind::BadSerialization, "tojson: nested too deeply"));
        }
        match value.kind() {
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number if value.is_integer() => self.out.push_str(&value.to_string()),
            ValueKind::Number => self.out.push_str(&float(f64::try_from(value.clone())?)),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => self.items(value, depth)?,
            ValueKind::Map => self.map(value, depth)?,
            kind => return Err(Error::new(ErrorKind::BadSerialization, format!("tojson: {kind} is not JSON"))),
        }
        Ok(())
    }
}
