//! Checks the nesting depth of a source before any recursive parser sees it.

use crate::grammar::Kind;

pub const DEEPEST: usize = 64;

/// Fails if the source is nested too deep. The error includes the position.
pub fn check(kind: Kind, source: &str) -> Result<(), String> {
    let scan = match kind {
        Kind::JsonObject => return Ok(()),
        Kind::JsonSchema | Kind::Choice => json,
        Kind::Regex => regex,
        Kind::Lark => lark,
        Kind::Gbnf => gbnf,
    };
    match scan(source.as_bytes()) {
        Some(at) => Err(format!("nested more than {DEEPEST} deep, at byte {at}")),
        None => Ok(()),
    }
}

struct Depth(usize);

impl Depth {
    /// Returns true if the nesting is too deep.
    fn step(&mut self, byte: u8) -> bool {
        match byte {
            b'(' | b'[' | b'{' => self.0 += 1,
            b')' | b']' | b'}' => self.0 = self.0.saturating_sub(1),
            _ => {}
        }
        self.0 > DEEPEST
    }
}

/// Returns the position after the string that begins at `at`.
fn string(source: &[u8], mut at: usize) -> usize {
    at += 1;
    while at < source.len() && source[at] != b'"' {
        at += if source[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

fn json(source: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (Depth(0), 0);
    while at < source.len() {
        if source[at] == b'"' {
            at = string(source, at);
            continue;
        }
        if depth.step(source[at]) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// The nesting of a regex. Groups and classes nest, but inside a class only classes do.
#[derive(Default)]
struct Pattern {
    groups: usize,
    classes: usize,
}

impl Pattern {
    fn step(&mut self, byte: u8) -> bool {
        match byte {
            b'[' => self.classes += 1,
            b']' => self.classes = self.classes.saturating_sub(1),
            b'(' if self.classes == 0 => self.groups += 1,
            b')' if self.classes == 0 => self.groups = self.groups.saturating_sub(1),
            _ => {}
        }
        self.groups + self.classes > DEEPEST
    }
}

fn regex(source: &[u8]) -> Option<usize> {
    let (mut pattern, mut at) = (Pattern::default(), 0);
    while at < source.len() {
        if source[at] == b'\\' {
            at += 2;
            continue;
        }
        if pattern.step(source[at]) {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn line_end(source: &[u8], at: usize) -> usize {
    source[at..].iter().position(|&b| b == b'\n').map_or(source.len(), |n| at + n)
}

/// Scans Lark, in which `[…]` is an option, `/…/` is a regex, and `//` and `#` begin comments.
fn lark(source: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (Depth(0), 0);
    while at < source.len() {
        match source[at] {
            b'"' => at = string(source, at),
            b'#' => at = line_end(source, at),
            b'/' if source.get(at + 1) == Some(&b'/') => at = line_end(source, at),
            b'/' => {
                let mut pattern = Pattern::default();
                at += 1;
                while at < source.len() && source[at] != b'/' {
                    if source[at] == b'\\' {
                        at += 1;
                    } else if pattern.step(source[at]) {
                        return Some(at);
                    }
                    at += 1;
                }
                at += 1;
            }
            byte => {
                if depth.step(byte) {
                    return Some(at);
                }
                at += 1;
            }
        }
    }
    None
}

/// Scans GBNF, in which `[…]` is a class and `#` begins a comment.
fn gbnf(source: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (Depth(0), 0);
    while at < source.len() {
        match source[at] {
            b'"' => at = string(source, at),
            b'#' => at = line_end(source, at),
            b'[' => {
                while at < source.len() && source[at] != b']' {
                    at += if source[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            byte => {
                if depth.step(byte) {
                    return Some(at);
                }
                at += 1;
            }
        }
    }
    None
}
