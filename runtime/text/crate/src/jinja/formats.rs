//! Python's three ways to format: format(value, spec), `%` and str.format. minijinja's versions lack %r, `{!r}`, widths
//! from arguments, signs, grouping and more, and templates that use these would fail only at the first request.

use super::methods::bound;
use super::text::{ascii_digits, is_decimal};
use super::values::*;
use minijinja::value::ValueKind;
use minijinja::{Error, Value};

/// The largest width of a formatted text, to bound memory.
const WIDEST: usize = 1 << 20;

fn exponent_text(exponent: i32) -> String {
    format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn exponential(x: f64, precision: usize) -> String {
    let text = format!("{x:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{digits}{}", exponent_text(exponent.parse().unwrap_or(0)))
}

/// Formats like `%g`: with `precision` significant digits, and without trailing zeros unless `keep`.
fn general(x: f64, precision: usize, keep: bool) -> String {
    let precision = precision.max(1);
    let text = exponential(x, precision - 1);
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let strip = |digits: &str| match digits.contains('.') && !keep {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    if exponent < -4 || exponent >= precision as i32 {
        let (digits, _) = text.split_once('e').unwrap_or((&text, ""));
        return strip(digits) + &exponent_text(exponent);
    }
    let after = (precision as i32 - 1 - exponent).max(0) as usize;
    strip(&format!("{x:.after$}"))
}

/// Formats a magnitude by one of the letters e, f, g or their capitals.
fn float_text(x: f64, letter: char, precision: usize, keep: bool) -> String {
    if !x.is_finite() {
        let text = if x.is_nan() { "nan" } else { "inf" };
        return if letter.is_ascii_uppercase() { text.to_uppercase() } else { text.into() };
    }
    let text = match letter.to_ascii_lowercase() {
        'e' => exponential(x, precision),
        'g' => general(x, precision, keep),
        _ => format!("{x:.precision$}"),
    };
    let text = if keep && !text.contains('.') {
        match text.find('e') {
            Some(at) => format!("{}.{}", &text[..at], &text[at..]),
            None => text + ".",
        }
    } else {
        text
    };
    if letter.is_ascii_uppercase() {
        text.to_uppercase()
    } else {
        text
    }
}

fn radix(mut n: u128, base: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((n % base as u128) as u32, base).unwrap_or('0'));
        n /= base as u128;
        if n == 0 {
            return digits.iter().rev().collect();
        }
    }
}

fn grouped(digits: &str, every: usize, mark: char) -> String {
    let digits: Vec<char> = digits.chars().collect();
    let mut out = String::new();
    for (i, c) in digits.iter().enumerate() {
        if i > 0 && (digits.len() - i) % every == 0 {
            out.push(mark);
        }
        out.push(*c);
    }
    out
}

#[derive(Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    zero: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    letter: Option<char>,
}

/// Reads the digits at `at`. str.format accepts digits of all scripts (`is_decimal`), but `%` only ASCII digits.
fn number_at(chars: &[char], at: &mut usize, is_digit: fn(char) -> bool) -> Result<Option<usize>> {
    let from = *at;
    while *at < chars.len() && is_digit(chars[*at]) {
        *at += 1;
    }
    if *at == from {
        return Ok(None);
    }
    let text: String = chars[from..*at].iter().collect();
    match ascii_digits(&text).parse::<usize>() {
        Ok(n) if n <= WIDEST => Ok(Some(n)),
        _ => Err(fail("Too many decimal digits in format string")),
    }
}

fn parse_spec(spec: &str) -> Result<Spec> {
    let chars: Vec<char> = spec.chars().collect();
    let is_align = |c: Option<&char>| c.is_some_and(|c| "<>=^".contains(*c));
    let mut out = Spec::default();
    let mut at = 0;
    if is_align(chars.get(1)) {
        (out.fill, out.align) = (Some(chars[0]), Some(chars[1]));
        at = 2;
    } else if is_align(chars.first()) {
        out.align = Some(chars[0]);
        at = 1;
    }
    let take = |set: &str, at: &mut usize| {
        let found = chars.get(*at).copied().filter(|c| set.contains(*c));
        *at += usize::from(found.is_some());
        found
    };
    out.sign = take("+- ", &mut at);
    take("z", &mut at);
    out.alternate = take("#", &mut at).is_some();
    out.zero = take("0", &mut at).is_some();
    out.width = number_at(&chars, &mut at, is_decimal)?.unwrap_or(0);
    out.grouping = take(",_", &mut at);
    if take(".", &mut at).is_some() {
        let missing = || fail("Format specifier missing precision");
        out.precision = Some(number_at(&chars, &mut at, is_decimal)?.ok_or_else(missing)?);
    }
    out.letter = chars.get(at).copied();
    if at + 1 < chars.len() {
        return Err(fail("Invalid format specifier"));
    }
    Ok(out)
}

fn padded(text: &str, fill: char, align: char, width: usize) -> String {
    let room = width.saturating_sub(text.chars().count());
    let (left, right) = match align {
        '<' => (0, room),
        '^' => (room / 2, room - room / 2),
        _ => (room, 0),
    };
    let fill_by = |n| std::iter::repeat_n(fill, n).collect::<String>();
    format!("{}{text}{}", fill_by(left), fill_by(right))
}

/// Returns sign, prefix and digits, padded after the prefix if the alignment is '='.
fn padded_number(spec: &Spec, negative: bool, prefix: &str, digits: &str) -> String {
    let sign = match (negative, spec.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    };
    let (whole, rest) = digits.split_at(digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len()));
    let every = if matches!(spec.letter, Some('b' | 'o' | 'x' | 'X')) { 4 } else { 3 };
    let mut whole = match spec.grouping {
        Some(mark) => grouped(whole, every, mark),
        None => whole.to_owned(),
    };
    let fill = spec.fill.unwrap_or(if spec.zero { '0' } else { ' ' });
    let align = spec.align.unwrap_or(if spec.zero { '=' } else { '>' });
    if align == '=' {
        let used = sign.len() + prefix.len() + rest.chars().count();
        let room = spec.width.saturating_sub(used);
        whole = match spec.grouping {
            // Padding zeros are grouped together with the digits.
            Some(mark) if fill == '0' => {
                let mut digits: String = whole.chars().filter(|c| *c != mark).collect();
                while grouped(&digits, every, mark).len() < room {
                    digits.insert(0, '0');
                }
                grouped(&digits, every, mark)
            }
            _ => padded(&whole, fill, '>', room),
        };
        return format!("{sign}{prefix}{whole}{rest}");
    }
    padded(&format!("{sign}{prefix}{whole}{rest}"), fill, align, spec.width)
}

fn unknown_letter(letter: char, value: &Value) -> Error {
    fail(format!("Unknown format code '{letter}' for object of type '{}'", type_name(value)))
}

fn format_int(value: &Value, i: i128, spec: &Spec) -> Result<String> {
    let letter = spec.letter.unwrap_or('d');
    if "eEfFgG%".contains(letter) {
        return format_float(value, i as f64, spec);
    }
    if spec.precision.is_some() {
        return Err(fail("Precision not allowed in integer format specifier"));
    }
    let n = i.unsigned_abs();
    let (prefix, digits) = match letter {
        'd' | 'n' => ("", n.to_string()),
        'b' => ("0b", radix(n, 2)),
        'o' => ("0o", radix(n, 8)),
        'x' => ("0x", radix(n, 16)),
        'X' => ("0X", radix(n, 16).to_uppercase()),
        'c' => {
            let c = u32::try_from(i).ok().and_then(char::from_u32);
            let c = c.ok_or_else(|| fail("%c arg not in range(0x110000)"))?;
            let align = spec.align.unwrap_or('<');
            return Ok(padded(&c.to_string(), spec.fill.unwrap_or(' '), align, spec.width));
        }
        letter => return Err(unknown_letter(letter, value)),
    };
    Ok(padded_number(spec, i < 0, if spec.alternate { prefix } else { "" }, &digits))
}

fn format_float(value: &Value, x: f64, spec: &Spec) -> Result<String> {
    let magnitude = x.abs();
    let negative = x.is_sign_negative() && !x.is_nan();
    let digits = match spec.letter {
        None => match spec.precision {
            None => float_repr(magnitude),
            Some(precision) => {
                let text = float_text(magnitude, 'g', precision, spec.alternate);
                if magnitude.is_finite() && !text.contains(['.', 'e']) {
                    // Formats as 'g' does, but with at least one digit after the point if there is no exponent.
                    match text.len() < precision.max(1) {
                        true => text + ".0",
                        false => exponential(magnitude, precision.saturating_sub(1)),
                    }
                } else {
                    text
                }
            }
        },
        Some('%') => float_text(magnitude * 100.0, 'f', spec.precision.unwrap_or(6), spec.alternate) + "%",
        Some('n') => float_text(magnitude, 'g', spec.precision.unwrap_or(6), spec.alternate),
        Some(letter @ ('e' | 'E' | 'f' | 'F' | 'g' | 'G')) => {
            float_text(magnitude, letter, spec.precision.unwrap_or(6), spec.alternate)
        }
        Some(letter) => return Err(unknown_letter(letter, value)),
    };
    Ok(padded_number(spec, negative, "", &digits))
}

/// `format(value, spec)`.
pub fn format_value(value: &Value, spec: &str) -> Result<String> {
    if spec.is_empty() {
        return text(value).map(|text| text.into_owned());
    }
    let spec = parse_spec(spec)?;
    match (Number::of(value), value.as_str()) {
        (Some(Number::Int(i)), _) => format_int(value, i, &spec),
        (Some(Number::Float(x)), _) => format_float(value, x, &spec),
        (_, Some(text)) => {
            match (spec.letter, spec.align) {
                (Some(letter), _) if letter != 's' => return Err(unknown_letter(letter, value)),
                (_, Some('=')) => return Err(fail("'=' alignment not allowed in string format specifier")),
                _ => {}
            }
            let shown: String = text.chars().take(spec.precision.unwrap_or(usize::MAX)).collect();
            let fill = spec.fill.unwrap_or(if spec.zero { '0' } else { ' ' });
            Ok(padded(&shown, fill, spec.align.unwrap_or('<'), spec.width))
        }
        _ => Err(fail(format!("unsupported format string passed to {}.__format__", type_name(value)))),
    }
}

fn ascii(value: &Value) -> Result<String> {
    Ok(repr(value)?.chars().map(|c| if c.is_ascii() { c.to_string() } else { escape(c) }).collect())
}

/// `format % args`.
pub fn percent(format: &str, safe: bool, args: &Value) -> Result<String> {
    let items = if args.is_tuple() { Some(items(args)?) } else { None };
    let tuple = items.as_deref();
    let mapping = matches!(args.kind(), ValueKind::Map | ValueKind::Seq) && tuple.is_none();
    let chars: Vec<char> = format.chars().collect();
    let mut next = 0;
    let mut take = || -> Result<Value> {
        next += 1;
        match (tuple, next) {
            (Some(items), n) => items.get(n - 1).cloned(),
            (None, 1) => Some(args.clone()),
            _ => None,
        }
        .ok_or_else(|| fail("not enough arguments for format string"))
    };
    let mut out = String::new();
    let mut at = 0;
    while at < chars.len() {
        if chars[at] != '%' {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        at += 1;
        let mut named = None;
        if chars.get(at) == Some(&'(') {
            let close = chars[at..].iter().position(|c| *c == ')');
            let close = at + close.ok_or_else(|| fail("incomplete format key"))?;
            let name: String = chars[at + 1..close].iter().collect();
            if args.kind() != ValueKind::Map {
                return Err(fail("format requires a mapping"));
            }
            named = Some(
                args.get_attr(&name)
                    .ok()
                    .filter(|found| !found.is_undefined())
                    .ok_or_else(|| fail(format!("'{name}'")))?,
            );
            at = close + 1;
        }
        let mut spec = Spec::default();
        let mut left = false;
        while let Some(flag) = chars.get(at).filter(|c| "#0- +".contains(**c)) {
            match flag {
                '#' => spec.alternate = true,
                '0' => spec.zero = true,
                '-' => left = true,
                ' ' if spec.sign == Some('+') => {}
                sign => spec.sign = Some(*sign),
            }
            at += 1;
        }
        let mut star = |at: &mut usize| -> Result<Option<i128>> {
            if chars.get(*at) != Some(&'*') {
                return Ok(number_at(&chars, at, |c| c.is_ascii_digit())?.map(|n| n as i128));
            }
            *at += 1;
            match Number::of(&take()?) {
                Some(Number::Int(n)) if n.unsigned_abs() <= WIDEST as u128 => Ok(Some(n)),
                _ => Err(fail("* wants int")),
            }
        };
        if let Some(width) = star(&mut at)? {
            left |= width < 0;
            spec.width = width.unsigned_abs() as usize;
        }
        if chars.get(at) == Some(&'.') {
            at += 1;
            spec.precision = Some(star(&mut at)?.unwrap_or(0).max(0) as usize);
        }
        while chars.get(at).is_some_and(|c| "hlL".contains(*c)) {
            at += 1;
        }
        let letter = *chars.get(at).ok_or_else(|| fail("incomplete format"))?;
        at += 1;
        if letter == '%' {
            out.push('%');
            continue;
        }
        let value = match named {
            Some(value) => value,
            None => take()?,
        };
        spec.align = if left { Some('<') } else { None };
        out += &percent_one(letter, &value, spec, safe)?;
    }
    let used_up = match tuple {
        Some(items) => next >= items.len(),
        None => next >= 1 || mapping,
    };
    match used_up {
        true => Ok(out),
        false => Err(fail("not all arguments converted during string formatting")),
    }
}

fn percent_one(letter: char, value: &Value, mut spec: Spec, safe: bool) -> Result<String> {
    let wants = |what: &str| fail(format!("%{letter} format: {what}, not {}", type_name(value)));
    if spec.align == Some('<') {
        spec.zero = false;
    }
    match letter {
        's' | 'r' | 'a' => {
            let text = match letter {
                's' if safe => escaped(value)?,
                's' => text(value)?.into_owned(),
                'r' => repr(value)?,
                _ => ascii(value)?,
            };
            let text: String = text.chars().take(spec.precision.unwrap_or(usize::MAX)).collect();
            Ok(padded(&text, ' ', spec.align.unwrap_or('>'), spec.width))
        }
        'c' => {
            let c = match (Number::of(value), value.as_str()) {
                (Some(Number::Int(i)), _) => u32::try_from(i).ok().and_then(char::from_u32),
                (_, Some(text)) if text.chars().count() == 1 => text.chars().next(),
                _ => None,
            };
            let c = c.ok_or_else(|| fail("%c requires int or char"))?;
            Ok(padded(&c.to_string(), ' ', spec.align.unwrap_or('>'), spec.width))
        }
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' => {
            let i = match Number::of(value) {
                Some(Number::Int(i)) => i,
                Some(Number::Float(f)) if "diu".contains(letter) && f.is_finite() => f.trunc() as i128,
                _ if "diu".contains(letter) => return Err(wants("a real number is required")),
                _ => return Err(wants("an integer is required")),
            };
            let n = i.unsigned_abs();
            let (prefix, digits) = match letter {
                'x' => ("0x", radix(n, 16)),
                'X' => ("0X", radix(n, 16).to_uppercase()),
                'o' => ("0o", radix(n, 8)),
                _ => ("", n.to_string()),
            };
            let short = spec.precision.unwrap_or(0).saturating_sub(digits.len());
            let digits = "0".repeat(short) + &digits;
            Ok(padded_number(&spec, i < 0, if spec.alternate { prefix } else { "" }, &digits))
        }
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            let x = Number::of(value)
                .map(Number::float)
                .ok_or_else(|| fail(format!("must be real number, not {}", type_name(value))))?;
            let digits = float_text(x.abs(), letter, spec.precision.unwrap_or(6), spec.alternate);
            if !x.is_finite() {
                spec.zero = false;
            }
            Ok(padded_number(&spec, x.is_sign_negative() && !x.is_nan(), "", &digits))
        }
        other => Err(fail(format!("unsupported format character '{other}' (0x{:x})", other as u32))),
    }
}

/// The arguments of str.format.
struct Fields<'a> {
    positional: &'a [Value],
    named: &'a Value,
    automatic: usize,
    manual: bool,
}

impl Fields<'_> {
    fn first(&mut self, name: &str) -> Result<Value> {
        let index = if name.is_empty() {
            if self.manual {
                return Err(fail("cannot switch from manual field specification to automatic field numbering"));
            }
            self.automatic += 1;
            Some(self.automatic - 1)
        } else if name.chars().all(is_decimal) {
            if self.automatic > 0 {
                return Err(fail("cannot switch from automatic field numbering to manual field specification"));
            }
            self.manual = true;
            Some(ascii_digits(name).parse::<usize>().unwrap_or(usize::MAX))
        } else {
            None
        };
        match index {
            Some(index) => self
                .positional
                .get(index)
                .cloned()
                .ok_or_else(|| fail(format!("Replacement index {index} out of range for positional args tuple"))),
            None => {
                let found = self.named.get_attr(name).ok().filter(|found| !found.is_undefined());
                found.ok_or_else(|| fail(format!("'{name}'")))
            }
        }
    }

    fn field(&mut self, path: &str) -> Result<Value> {
        let end = path.find(['.', '[']).unwrap_or(path.len());
        let mut value = self.first(&path[..end])?;
        let mut rest = &path[end..];
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                if end == 0 {
                    return Err(fail("Empty attribute in format string"));
                }
                value = bound(&value, &after[..end])?;
                rest = &after[end..];
            } else if let Some(after) = rest.strip_prefix('[') {
                let end = after.find(']').ok_or_else(|| fail("Missing ']' in format string"))?;
                let key = match ascii_digits(&after[..end]).parse::<i128>() {
                    Ok(i) if after[..end].chars().all(is_decimal) => integer(i),
                    _ => Value::from(&after[..end]),
                };
                value = value.get_item(&key)?;
                rest = &after[end + 1..];
            } else {
                return Err(fail("Only '.' or '[' may follow ']' in format field specifier"));
            }
        }
        Ok(value)
    }

    fn text(&mut self, format: &str, depth: usize) -> Result<String> {
        if depth > 2 {
            return Err(fail("Max string recursion exceeded"));
        }
        let mut out = String::new();
        let mut rest = format;
        while let Some(at) = rest.find(['{', '}']) {
            out += &rest[..at];
            let brace = &rest[at..at + 1];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                out += brace;
                rest = after;
                continue;
            }
            if brace == "}" {
                return Err(fail("Single '}' encountered in format string"));
            }
            let mut open = 1;
            let end = rest.find(|c| {
                open += match c {
                    '{' => 1,
                    '}' => -1,
                    _ => 0,
                };
                open == 0
            });
            let end = end.ok_or_else(|| fail("Single '{' encountered in format string"))?;
            let field = &rest[..end];
            rest = &rest[end + 1..];
            // A ':' or '!' inside brackets is part of the name.
            let mut bracket = false;
            let stop = field.find(|c| {
                bracket = (bracket || c == '[') && c != ']';
                !bracket && (c == ':' || c == '!')
            });
            let (path, tail) = field.split_at(stop.unwrap_or(field.len()));
            let (conversion, spec) = match tail.strip_prefix('!') {
                Some(tail) => {
                    let (conversion, spec) = tail.split_once(':').unwrap_or((tail, ""));
                    (conversion, spec)
                }
                None => ("", tail.strip_prefix(':').unwrap_or("")),
            };
            let value = self.field(path)?;
            let value = match (conversion, tail.starts_with('!')) {
                ("", false) => value,
                ("s", _) => Value::from(text(&value)?),
                ("r", _) => Value::from(repr(&value)?),
                ("a", _) => Value::from(ascii(&value)?),
                (other, _) => return Err(fail(format!("Unknown conversion specifier {other}"))),
            };
            let spec = self.text(spec, depth + 1)?;
            out += &format_value(&value, &spec)?;
        }
        Ok(out + rest)
    }
}

/// `str.format(*args, **named)`.
pub fn str_format(format: &str, args: &[Value]) -> Result<String> {
    let (positional, named) = split(args);
    Fields { positional, named, automatic: 0, manual: false }.text(format, 0)
}

/// `str.format_map(mapping)`.
pub fn format_map(format: &str, mapping: &Value) -> Result<String> {
    Fields { positional: &[], named: mapping, automatic: 0, manual: false }.text(format, 0)
}
