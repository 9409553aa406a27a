//! json.dumps as Python writes it: ", " and ": ", no HTML escapes, non-ASCII as it is.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

pub struct Style {
    pub indent: Option<String>,
    pub ensure_ascii: bool,
    pub sort_keys: bool,
    pub separators: Option<(String, String)>,
}

/// Deeper values are refused before the stack is in danger.
const DEEPEST: usize = 128;

struct Writer<'a> {
    style: &'a Style,
    item: &'a str,
    key: &'a str,
    out: String,
}

pub fn dump(value: &Value, style: &Style) -> Result<String, Error> {
    let (item, key) = match &style.separators {
        Some((item, key)) => (item.as_str(), key.as_str()),
        None => (if style.indent.is_some() { "," } else { ", " }, ": "),
    };
    let mut writer = Writer { style, item, key, out: String::new() };
    writer.value(value, 0)?;
    Ok(writer.out)
}

impl Writer<'_> {
    fn line(&mut self, depth: usize) {
        if let Some(indent) = &self.style.indent {
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
                c if (c as u32) < 0x20 || (self.style.ensure_ascii && (c as u32) > 0x7e) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        self.out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    fn items(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        self.out.push('[');
        let mut count = 0;
        for item in value.try_iter()? {
            if count > 0 {
                self.out.push_str(self.item);
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

    fn map(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        let mut keys: Vec<Value> = value.try_iter()?.collect();
        if self.style.sort_keys {
            keys.sort();
        }
        self.out.push('{');
        for (i, key) in keys.iter().enumerate() {
            if i > 0 {
                self.out.push_str(self.item);
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
            self.out.push_str(self.key);
            self.value(&value.get_item(key)?, depth + 1)?;
        }
        if !keys.is_empty() {
            self.line(depth);
        }
        self.out.push('}');
        Ok(())
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > DEEPEST {
            return Err(Error::new(ErrorKind::BadSerialization, "tojson: nested too deeply"));
        }
        match value.kind() {
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.out.push_str(&value.to_string()),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => self.items(value, depth)?,
            ValueKind::Map => self.map(value, depth)?,
            kind => return Err(Error::new(ErrorKind::BadSerialization, format!("tojson: {kind} is not JSON"))),
        }
        Ok(())
    }
}
