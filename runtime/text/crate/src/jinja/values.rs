//! Text, items and order of minijinja's values as in Python, and Python's lists and generators.

use minijinja::value::{Enumerator, Object, ObjectRepr, Tuple, ValueKind};
use minijinja::{Error, ErrorKind, Value};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use unicode_categories::UnicodeCategories;

pub type Result<T> = std::result::Result<T, Error>;

/// The largest nesting depth of values, to protect the stack.
pub const DEEPEST: usize = 128;

pub fn fail(why: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, why)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A list that a template created. append and pop change it for all its holders.
#[derive(Debug)]
pub struct List(pub Mutex<Vec<Value>>);

impl List {
    pub fn items(&self) -> MutexGuard<'_, Vec<Value>> {
        locked(&self.0)
    }
}

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.items().get(key.as_usize()?).cloned()
    }
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items().clone())
    }
    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.items().len())
    }
}

pub fn list(items: Vec<Value>) -> Value {
    Value::from_object(List(Mutex::new(items)))
}

pub fn tuple(items: Vec<Value>) -> Value {
    Value::from(Tuple::from(items))
}

/// The result of map, select and similar filters. It is true, also if it is empty. It is empty once it has been read.
#[derive(Debug)]
pub struct Generator(Mutex<Vec<Value>>);

impl Generator {
    pub fn next(&self) -> Option<Value> {
        let mut left = locked(&self.0);
        (!left.is_empty()).then(|| left.remove(0))
    }
}

impl Object for Generator {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(std::mem::take(&mut *locked(&self.0)))
    }
    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(locked(&self.0).len())
    }
    fn is_true(self: &Arc<Self>) -> bool {
        true
    }
}

pub fn generator(items: Vec<Value>) -> Value {
    Value::from_object(Generator(Mutex::new(items)))
}

/// dict_keys, dict_values, dict_items, and range(0, 5), which prints as its name.
#[derive(Debug)]
pub struct View {
    pub name: Cow<'static, str>,
    pub items: Vec<Value>,
}

impl Object for View {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items.clone())
    }
    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.items.len())
    }
}

/// A group of groupby: a named tuple of its key and its members.
#[derive(Debug)]
struct Group(Value, Value);

impl Object for Group {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match (key.as_str(), key.as_usize()) {
            (Some("grouper"), _) | (_, Some(0)) => Some(self.0.clone()),
            (Some("list"), _) | (_, Some(1)) => Some(self.1.clone()),
            _ => None,
        }
    }
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(2)
    }
}

pub fn group(key: Value, members: Value) -> Value {
    Value::from_object(Group(key, members))
}

/// Returns the name of the value's type in Python.
pub fn type_name(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::Undefined => "Undefined",
        ValueKind::None => "NoneType",
        ValueKind::Bool => "bool",
        ValueKind::Number if value.is_integer() => "int",
        ValueKind::Number => "float",
        ValueKind::String => "str",
        ValueKind::Map => "dict",
        ValueKind::Seq if value.is_tuple() => "tuple",
        ValueKind::Seq => "list",
        ValueKind::Iterable => "generator",
        _ => "object",
    }
}

#[derive(Clone, Copy)]
pub enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    /// Returns the value as a number. True and False are numbers as well.
    pub fn of(value: &Value) -> Option<Number> {
        match value.kind() {
            ValueKind::Bool => Some(Number::Int(value.is_true().into())),
            ValueKind::Number if value.is_integer() => i128::try_from(value.clone()).ok().map(Number::Int),
            ValueKind::Number => f64::try_from(value.clone()).ok().map(Number::Float),
            _ => None,
        }
    }

    pub fn float(self) -> f64 {
        match self {
            Number::Int(i) => i as f64,
            Number::Float(x) => x,
        }
    }
}

pub fn integer(i: i128) -> Value {
    i64::try_from(i).map_or_else(|_| Value::from(i), Value::from)
}

pub fn undefined(value: &Value) -> Result<()> {
    match value.is_undefined() {
        true => Err(Error::new(ErrorKind::UndefinedError, "a value is undefined")),
        false => Ok(()),
    }
}

/// Returns an argument that must be an integer.
pub fn int(value: &Value) -> Result<i128> {
    undefined(value)?;
    match Number::of(value) {
        Some(Number::Int(i)) => Ok(i),
        _ => Err(fail(format!("'{}' object cannot be interpreted as an integer", type_name(value)))),
    }
}

/// Returns a length or width. Negative values become 0.
pub fn size(value: &Value) -> Result<usize> {
    const MOST: i128 = 1 << 20;
    match int(value)? {
        n if n > MOST => Err(fail(format!("{n} is more than {MOST}"))),
        n => Ok(n.max(0) as usize),
    }
}

pub fn string(value: &Value) -> Result<&str> {
    value.as_str().ok_or_else(|| fail(format!("expected str, got '{}'", type_name(value))))
}

/// Binds each parameter to its argument, if there is one.
pub fn bind<const N: usize>(function: &str, args: &[Value], parameters: [&str; N]) -> Result<[Option<Value>; N]> {
    let (positional, named) = split(args);
    let mut bound: [Option<Value>; N] = std::array::from_fn(|i| positional.get(i).cloned());
    if positional.len() > N {
        return Err(fail(format!("{function}() takes at most {N} arguments ({} given)", positional.len())));
    }
    for (name, value) in pairs(named)? {
        match parameters.iter().position(|parameter| Some(*parameter) == name.as_str()) {
            None => return Err(fail(format!("{function}() got an unexpected keyword argument '{name}'"))),
            Some(at) if bound[at].is_some() => {
                return Err(fail(format!("{function}() got multiple values for argument '{name}'")))
            }
            Some(at) => bound[at] = Some(value),
        }
    }
    Ok(bound)
}

/// Splits off the keyword arguments. They are a mapping, or undefined if there are none.
pub fn split(args: &[Value]) -> (&[Value], &Value) {
    match args.split_last() {
        Some((named, positional)) if named.is_kwargs() => (positional, named),
        _ => (args, &Value::UNDEFINED),
    }
}

/// Returns the only argument of a function, which is required.
pub fn one(function: &str, args: &[Value], parameter: &str) -> Result<Value> {
    let [value] = bind(function, args, [parameter])?;
    required(value, function, parameter)
}

pub fn required(value: Option<Value>, function: &str, parameter: &str) -> Result<Value> {
    value.ok_or_else(|| fail(format!("{function}() missing 1 required argument: '{parameter}'")))
}

pub fn given(value: Option<Value>) -> Option<Value> {
    value.filter(|value| !value.is_none())
}

pub fn truth(value: &Option<Value>) -> bool {
    value.as_ref().is_some_and(Value::is_true)
}

pub fn items(value: &Value) -> Result<Vec<Value>> {
    match value.kind() {
        ValueKind::String => Ok(value.as_str().unwrap_or("").chars().map(|c| Value::from(c.to_string())).collect()),
        ValueKind::Undefined => Ok(Vec::new()),
        ValueKind::Map | ValueKind::Seq | ValueKind::Iterable => value.try_iter()?.checked().collect(),
        _ => Err(fail(format!("'{}' object is not iterable", type_name(value)))),
    }
}

pub fn pairs(map: &Value) -> Result<Vec<(Value, Value)>> {
    items(map)?.into_iter().map(|key| Ok((key.clone(), map.get_item(&key)?))).collect()
}

/// Compares two values for `<` and similar operators. Returns None if they are unordered (nan). Fails if their types
/// differ.
pub fn compare(left: &Value, right: &Value, operator: &str) -> Result<Option<Ordering>> {
    undefined(left)?;
    undefined(right)?;
    match (Number::of(left), Number::of(right), left.as_str(), right.as_str()) {
        (Some(Number::Int(a)), Some(Number::Int(b)), ..) => return Ok(Some(a.cmp(&b))),
        (Some(a), Some(b), ..) => return Ok(a.float().partial_cmp(&b.float())),
        (_, _, Some(a), Some(b)) => return Ok(Some(a.cmp(b))),
        _ => {}
    }
    if left.kind() == ValueKind::Seq && right.kind() == ValueKind::Seq && left.is_tuple() == right.is_tuple() {
        let (a, b) = (items(left)?, items(right)?);
        if let Some((x, y)) = a.iter().zip(&b).find(|(x, y)| x != y) {
            return compare(x, y, operator);
        }
        return Ok(Some(a.len().cmp(&b.len())));
    }
    let (a, b) = (type_name(left), type_name(right));
    Err(fail(format!("'{operator}' not supported between instances of '{a}' and '{b}'")))
}

/// `repr(x)` of a float: the shortest digits that read back as x, with an exponent below 1e-4 and at 1e16 or more.
pub fn float_repr(x: f64) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return if x < 0.0 { "-inf".into() } else { "inf".into() };
    }
    let mut scientific = format!("{x:e}");
    // If two representations are equally short and equally near, Python chooses the one with the even last digit.
    let places = scientific.find('e').unwrap_or(0).saturating_sub(2 + usize::from(x < 0.0));
    let even = format!("{x:.places$e}");
    if even.parse() == Ok(x) {
        scientific = even;
    }
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if x == 0.0 || (-4..16).contains(&exponent) {
        let places = (digits.trim_start_matches('-').len().saturating_sub(2) as i32 - exponent).max(1) as usize;
        return format!("{x:.places$}");
    }
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn is_printable(c: char) -> bool {
    c == ' '
        || !(c.is_other_control()
            || c.is_other_format()
            || c.is_other_private_use()
            || c.is_separator_space()
            || c.is_separator_line()
            || c.is_separator_paragraph())
}

pub fn printable(text: &str) -> bool {
    text.chars().all(is_printable)
}

/// `\xa0`, `\u200b`, `\U0001f600`.
pub fn escape(c: char) -> String {
    match c as u32 {
        code @ 0..=0xff => format!("\\x{code:02x}"),
        code @ 0x100..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

fn quoted(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c => out.push_str(&escape(c)),
        }
    }
    out.push(quote);
}

fn write_all(items: &[Value], marks: [&str; 2], depth: usize, out: &mut String) -> Result<()> {
    out.push_str(marks[0]);
    for (i, item) in items.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        write_repr(item, depth + 1, out)?;
    }
    out.push_str(marks[1]);
    Ok(())
}

fn write_repr(value: &Value, depth: usize, out: &mut String) -> Result<()> {
    if depth > DEEPEST {
        return Err(fail("a value is nested too deeply"));
    }
    match value.kind() {
        ValueKind::Undefined => out.push_str("Undefined"),
        ValueKind::Number if !value.is_integer() => out.push_str(&float_repr(f64::try_from(value.clone())?)),
        ValueKind::String if value.is_safe() => {
            out.push_str("Markup(");
            quoted(value.as_str().unwrap_or(""), out);
            out.push(')');
        }
        ValueKind::String => quoted(value.as_str().unwrap_or(""), out),
        ValueKind::Map => {
            out.push('{');
            for (i, (key, value)) in pairs(value)?.into_iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write_repr(&key, depth + 1, out)?;
                out.push_str(": ");
                write_repr(&value, depth + 1, out)?;
            }
            out.push('}');
        }
        ValueKind::Seq if value.is_tuple() || value.downcast_object_ref::<Group>().is_some() => {
            let close = if value.len() == Some(1) { ",)" } else { ")" };
            write_all(&items(value)?, ["(", close], depth, out)?;
        }
        ValueKind::Iterable => match value.downcast_object_ref::<View>() {
            Some(view) => {
                out.push_str(&view.name);
                if view.name.ends_with(')') {
                    return Ok(());
                }
                write_all(&view.items, ["([", "])"], depth, out)?;
            }
            None => write_all(&items(value)?, ["[", "]"], depth, out)?,
        },
        ValueKind::Seq => write_all(&items(value)?, ["[", "]"], depth, out)?,
        _ => out.push_str(&value.to_string()),
    }
    Ok(())
}

pub fn repr(value: &Value) -> Result<String> {
    let mut out = String::new();
    write_repr(value, 0, &mut out)?;
    Ok(out)
}

/// `str(x)`.
pub fn text(value: &Value) -> Result<Cow<'_, str>> {
    match value.as_str() {
        Some(text) => Ok(text.into()),
        None if value.is_undefined() => Ok("".into()),
        None => repr(value).map(Cow::Owned),
    }
}

pub fn escaped(value: &Value) -> Result<String> {
    let text = text(value)?;
    Ok(match value.is_safe() {
        true => text.into_owned(),
        false => super::text::escape_html(&text),
    })
}
