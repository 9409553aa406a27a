//! Python's character classes, and the methods of its `str` that have no direct equivalent in Rust.

use unicode_categories::UnicodeCategories;

/// str.isspace of one character.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

pub fn is_alpha(c: char) -> bool {
    c.is_letter()
}

pub fn is_decimal(c: char) -> bool {
    c.is_number_decimal_digit()
}

/// Replaces decimal digits of other scripts by ASCII digits, since Python accepts both in numbers.
pub fn ascii_digits(text: &str) -> String {
    let ascii = |c: char| {
        if c.is_ascii() || !is_decimal(c) {
            return c;
        }
        // The ten digits of a script are contiguous and begin with zero. The digits of some scripts are adjacent.
        let before = (1..).take_while(|n| char::from_u32(c as u32 - n).is_some_and(is_decimal)).count();
        char::from_digit((before % 10) as u32, 10).unwrap_or(c)
    };
    text.chars().map(ascii).collect()
}

/// str.isdigit of one character: decimals, and superscript, subscript or circled digits.
pub fn is_digit(c: char) -> bool {
    let marked = matches!(c, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉' | '①'..='⑨' | '⑴'..='⑼' | '⒈'..='⒐' | '⓪' | '➀'..='➈');
    is_decimal(c) || marked
}

/// str.isnumeric of one character: digits, and other characters with a numeric value (fractions, Roman numerals,
/// Chinese numbers).
pub fn is_numeric(c: char) -> bool {
    const CHINESE: &str = "〇一二三四五六七八九十百千万億兆两兩零壹贰叁肆伍陆柒捌玖拾佰仟萬亿";
    c.is_number() || is_digit(c) || CHINESE.contains(c)
}

pub fn is_cased(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || c.is_letter_titlecase()
}

fn upper(c: char) -> String {
    c.to_uppercase().collect()
}

/// Returns the title case of one character: "Ss" for "ß", and a separate letter for "ǆ".
fn title_char(c: char) -> String {
    match c {
        'Ǆ' | 'ǅ' | 'ǆ' => return "ǅ".into(),
        'Ǉ' | 'ǈ' | 'ǉ' => return "ǈ".into(),
        'Ǌ' | 'ǋ' | 'ǌ' => return "ǋ".into(),
        _ => {}
    }
    let mut all = upper(c).chars().collect::<Vec<_>>().into_iter();
    let first = all.next().map(String::from).unwrap_or_default();
    first + &all.flat_map(char::to_lowercase).collect::<String>()
}

pub fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => title_char(first) + &chars.as_str().to_lowercase(),
        None => String::new(),
    }
}

/// str.title. A word is a run of cased letters.
pub fn title(text: &str) -> String {
    let mut out = String::new();
    let mut within = false;
    for c in text.chars() {
        match within {
            true => out.extend(c.to_lowercase()),
            false => out += &title_char(c),
        }
        within = is_cased(c);
    }
    out
}

pub fn is_title(text: &str) -> bool {
    let (mut within, mut any) = (false, false);
    for c in text.chars() {
        let upper = c.is_uppercase() || c.is_letter_titlecase();
        if upper && within || c.is_lowercase() && !within {
            return false;
        }
        within = upper || c.is_lowercase();
        any |= within;
    }
    any
}

pub fn swapcase(text: &str) -> String {
    let swap = |c: char| if c.is_uppercase() { c.to_lowercase().collect() } else { upper(c) };
    text.chars().map(swap).collect()
}

pub fn casefold(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            'ß' | 'ẞ' => out.push_str("ss"),
            'ς' => out.push('σ'),
            'ŉ' => out.push_str("ʼn"),
            'ﬀ' => out.push_str("ff"),
            'ﬁ' => out.push_str("fi"),
            'ﬂ' => out.push_str("fl"),
            'ﬃ' => out.push_str("ffi"),
            'ﬄ' => out.push_str("ffl"),
            'ﬅ' | 'ﬆ' => out.push_str("st"),
            'µ' => out.push('μ'),
            'ſ' => out.push('s'),
            'ͅ' => out.push('ι'),
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// Returns whether there are cased letters, and all of them have this case.
pub fn all_cased(text: &str, wanted: fn(char) -> bool, unwanted: fn(char) -> bool) -> bool {
    text.chars().any(wanted) && !text.chars().any(|c| unwanted(c) || c.is_letter_titlecase())
}

fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

pub fn splitlines(text: &str, keep: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(ends_line) {
        let mark = rest[at..].chars().next().map_or(1, char::len_utf8);
        let size = if rest[at..].starts_with("\r\n") { 2 } else { mark };
        lines.push(if keep { &rest[..at + size] } else { &rest[..at] });
        rest = &rest[at + size..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

/// str.split without a separator. It splits at runs of white space, at most `most` times.
pub fn split_blanks(text: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        if parts.len() == most {
            parts.push(rest);
            break;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_space);
    }
    parts
}

pub fn rsplit_blanks(text: &str, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_end_matches(is_space);
    while !rest.is_empty() {
        if parts.len() == most {
            parts.push(rest);
            break;
        }
        let begin = rest.rfind(is_space).map_or(0, |at| at + rest[at..].chars().next().map_or(1, char::len_utf8));
        parts.push(&rest[begin..]);
        rest = rest[..begin].trim_end_matches(is_space);
    }
    parts.reverse();
    parts
}

pub fn expand_tabs(text: &str, size: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for c in text.chars() {
        match c {
            '\t' => {
                let blanks = if size > 0 { size - column % size } else { 0 };
                out.extend(std::iter::repeat_n(' ', blanks));
                column += blanks;
            }
            c => {
                out.push(c);
                column = if c == '\n' || c == '\r' { 0 } else { column + 1 };
            }
        }
    }
    out
}

/// str.center. If the number of blanks is odd, the extra one goes to the left only if the width is odd.
pub fn center(text: &str, width: usize, fill: char) -> String {
    let room = width.saturating_sub(text.chars().count());
    let left = room / 2 + (room & width & 1);
    let fill_by = |n| std::iter::repeat_n(fill, n).collect::<String>();
    format!("{}{text}{}", fill_by(left), fill_by(room - left))
}

pub fn zfill(text: &str, width: usize) -> String {
    let zeros = "0".repeat(width.saturating_sub(text.chars().count()));
    match text.strip_prefix(['+', '-']) {
        Some(digits) => format!("{}{zeros}{digits}", &text[..1]),
        None => zeros + text,
    }
}

pub fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('>', "&gt;").replace('<', "&lt;").replace('\'', "&#39;").replace('"', "&#34;")
}
