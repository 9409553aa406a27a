//! The functions of jinja2 except `lipsum`, and the additions of transformers.

use super::values::*;
use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Value};

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
    env.add_function("range", |numbers: Rest<Value>| range(&numbers));
    env.add_function("dict", |args: Rest<ValueOrKwargs>| mapping(&args.into_values()));
    env.add_function("namespace", minijinja::functions::namespace);
    env.add_function("cycler", |items: Rest<Value>| minijinja_contrib::globals::cycler(items.0));
    env.add_function("joiner", minijinja_contrib::globals::joiner);
    env.add_function("strftime_now", |format: &str| now(format));
    env.add_function("raise_exception", |message: &Value| -> Result<Value> { Err(fail(text(message)?.into_owned())) });
}

/// Returns the local time, formatted by strftime.
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

/// `dict(...)`, built from a mapping or from pairs, and from keywords.
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

pub fn pair(value: &Value) -> Result<(Value, Value)> {
    match &items(value)?[..] {
        [key, value] => Ok((key.clone(), value.clone())),
        other => Err(fail(format!("a pair has 2 elements, not {}", other.len()))),
    }
}
