//! Filters of numbers, and parsing of numbers in texts as in Python.

use crate::jinja::text::*;
use crate::jinja::values::*;
use minijinja::Value;
use std::cmp::Ordering;

pub fn absolute(value: &Value) -> Result<Value> {
    undefined(value)?;
    match Number::of(value) {
        Some(Number::Int(i)) => Ok(integer(i.abs())),
        Some(Number::Float(x)) => Ok(Value::from(x.abs())),
        None => Err(fail(format!("bad operand type for abs(): '{}'", type_name(value)))),
    }
}

pub fn to_int(value: &Value, args: &[Value]) -> Result<Value> {
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

pub fn to_float(value: &Value, args: &[Value]) -> Result<Value> {
    let [default] = bind("float", args, ["default"])?;
    undefined(value)?;
    let found = match value.as_str() {
        Some(text) => parse_float(text),
        None => Number::of(value).map(Number::float),
    };
    Ok(found.map_or_else(|| default.unwrap_or(Value::from(0.0)), Value::from))
}

pub fn round(value: &Value, args: &[Value]) -> Result<Value> {
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
    let digits = ascii_digits(&digits.replace('_', ""));
    if !digits.chars().all(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    i128::from_str_radix(&digits, base).ok().map(|n| if negative { -n } else { n })
}

/// `float(text)`.
fn parse_float(text: &str) -> Option<f64> {
    let text = ascii_digits(text);
    let trimmed = text.trim_matches(is_space);
    let lower = trimmed.to_ascii_lowercase();
    match lower.trim_start_matches(['+', '-']) {
        "inf" | "infinity" | "nan" => return lower.parse().ok(),
        _ => {}
    }
    let digit_at = |at: usize| trimmed.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let valid = !trimmed.is_empty()
        && trimmed.chars().all(|c| c.is_ascii_digit() || "+-.eE_".contains(c))
        && trimmed.char_indices().all(|(at, c)| c != '_' || digit_at(at.wrapping_sub(1)) && digit_at(at + 1));
    if !valid {
        return None;
    }
    trimmed.replace('_', "").parse().ok()
}
