//! Python's operators, as filters with names that no template can spell (lower.rs).

use super::formats::percent;
use super::values::*;
use minijinja::value::{Rest, ValueKind};
use minijinja::{Environment, Value};
use std::cmp::Ordering;

/// The largest length of a text or list that an operator may create.
const LONGEST: usize = 32 << 20;

fn unsupported(op: &str, left: &Value, right: &Value) -> minijinja::Error {
    let (left, right) = (type_name(left), type_name(right));
    fail(format!("unsupported operand type(s) for {op}: '{left}' and '{right}'"))
}

fn integers(op: &str, a: i128, b: i128) -> Result<Value> {
    let (floor, rest) = match b {
        0 => (None, None),
        _ => {
            let up = a.checked_rem(b).is_some_and(|rest| rest != 0 && (rest < 0) != (b < 0));
            (
                a.checked_div(b).map(|floor| floor - i128::from(up)),
                a.checked_rem(b).map(|rest| if up { rest + b } else { rest }),
            )
        }
    };
    let found = match op {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "//" => floor,
        "%" => rest,
        "**" if b >= 0 => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        _ => return floats(op, a as f64, b as f64),
    };
    match (found, b, op) {
        (Some(found), ..) => Ok(integer(found)),
        (None, 0, "//" | "%") => Err(fail("integer division or modulo by zero")),
        _ => Err(fail(format!("{a} {op} {b} has more than 128 bits"))),
    }
}

fn floats(op: &str, a: f64, b: f64) -> Result<Value> {
    if b == 0.0 && matches!(op, "/" | "//" | "%") || a == 0.0 && b < 0.0 && op == "**" {
        return Err(fail("division by zero"));
    }
    let mut rest = a % b;
    let mut floor = (a - rest) / b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) {
        (rest, floor) = (rest + b, floor - 1.0);
    } else if rest == 0.0 {
        rest = 0f64.copysign(b);
    }
    Ok(Value::from(match op {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "//" => floor.round(),
        "%" => rest,
        _ if a < 0.0 && b.fract() != 0.0 => return Err(fail("complex numbers are not supported")),
        _ => a.powf(b),
    }))
}

fn repeated(value: &Value, times: &Value) -> Result<Option<Value>> {
    let (Some(Number::Int(times)), Some(length)) = (Number::of(times), value.len()) else { return Ok(None) };
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    if !matches!(value.kind(), ValueKind::String | ValueKind::Seq) {
        return Ok(None);
    }
    if length.saturating_mul(times) > LONGEST {
        return Err(fail("the repetition would be too long"));
    }
    Ok(Some(match value.as_str() {
        Some(text) => marked(text.repeat(times), value.is_safe()),
        None => {
            let once = items(value)?;
            let items = std::iter::repeat_n(once, times).flatten().collect();
            if value.is_tuple() {
                tuple(items)
            } else {
                list(items)
            }
        }
    }))
}

fn marked(text: String, safe: bool) -> Value {
    if safe {
        Value::from_safe_string(text)
    } else {
        Value::from(text)
    }
}

pub fn binary(op: &str, left: &Value, right: &Value) -> Result<Value> {
    match (Number::of(left), Number::of(right)) {
        (Some(Number::Int(a)), Some(Number::Int(b))) => return integers(op, a, b),
        (Some(a), Some(b)) => return floats(op, a.float(), b.float()),
        _ => {}
    }
    match (op, left.as_str(), right.as_str()) {
        ("+", Some(_), Some(_)) if left.is_safe() || right.is_safe() => {
            return Ok(Value::from_safe_string(escaped(left)? + &escaped(right)?));
        }
        ("+", Some(a), Some(b)) => return Ok(Value::from([a, b].concat())),
        ("%", Some(format), _) => return percent(format, left.is_safe(), right).map(|t| marked(t, left.is_safe())),
        _ => {}
    }
    undefined(left)?;
    undefined(right)?;
    let lists = left.kind() == ValueKind::Seq && right.kind() == ValueKind::Seq;
    let found = match op {
        "+" if lists && left.is_tuple() == right.is_tuple() => {
            let both = [items(left)?, items(right)?].concat();
            Some(if left.is_tuple() { tuple(both) } else { list(both) })
        }
        "*" => match repeated(left, right)? {
            Some(found) => Some(found),
            None => repeated(right, left)?,
        },
        _ => None,
    };
    found.ok_or_else(|| unsupported(op, left, right))
}

fn slice(value: &Value, bounds: &[Value]) -> Result<Value> {
    undefined(value)?;
    let bound = |at: usize| match bounds.get(at) {
        Some(bound) if !bound.is_none() => int(bound).map(Some),
        _ => Ok(None),
    };
    let (start, stop, step) = (bound(0)?, bound(1)?, bound(2)?.unwrap_or(1));
    if step == 0 {
        return Err(fail("slice step cannot be zero"));
    }
    let parts = match value.kind() {
        ValueKind::String | ValueKind::Seq | ValueKind::Iterable => items(value)?,
        _ => return Err(fail(format!("'{}' object is not subscriptable", type_name(value)))),
    };
    let length = parts.len() as i128;
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let place = |at: Option<i128>, default: i128| {
        at.map_or(default, |at| if at < 0 { at + length } else { at }.clamp(low, high))
    };
    let (mut at, stop) =
        if step > 0 { (place(start, 0), place(stop, length)) } else { (place(start, high), place(stop, low)) };
    let mut taken = Vec::new();
    while if step > 0 { at < stop } else { at > stop } {
        taken.push(parts[at as usize].clone());
        at = at.saturating_add(step);
    }
    Ok(match value.kind() {
        ValueKind::String => marked(taken.iter().filter_map(Value::as_str).collect(), value.is_safe()),
        _ if value.is_tuple() => tuple(taken),
        _ => list(taken),
    })
}

fn concatenated(first: &Value, rest: &[Value]) -> Result<Value> {
    let mut out = text(first)?.into_owned();
    for part in rest {
        out += &text(part)?;
    }
    Ok(Value::from(out))
}

fn negated(value: &Value) -> Result<Value> {
    undefined(value)?;
    match Number::of(value) {
        Some(Number::Int(i)) => Ok(integer(-i)),
        Some(Number::Float(x)) => Ok(Value::from(-x)),
        None => Err(fail(format!("bad operand type for unary -: '{}'", type_name(value)))),
    }
}

pub fn holds(op: &str, left: &Value, right: &Value) -> Result<bool> {
    let order = compare(left, right, op)?;
    Ok(match op {
        "<" => order == Some(Ordering::Less),
        "<=" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        ">" => order == Some(Ordering::Greater),
        _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    })
}

pub fn add_to(env: &mut Environment<'static>) {
    for op in ["+", "-", "*", "/", "//", "%", "**"] {
        env.add_filter(op, move |left: &Value, right: &Value| binary(op, left, right));
    }
    for op in ["<", "<=", ">", ">="] {
        env.add_filter(op, move |left: &Value, right: &Value| holds(op, left, right));
    }
    env.add_filter("~", |first: &Value, rest: Rest<Value>| concatenated(first, &rest));
    env.add_filter("-x", |value: &Value| negated(value));
    env.add_filter("[]", |value: &Value| items(value).map(list));
    env.add_filter("[:]", |value: &Value, bounds: Rest<Value>| slice(value, &bounds));
}
