//! Control tokens in what people write stay text.
//!
//! A chat template puts contents between control tokens, and a tokenizer takes both for the same:
//! a user's "<|im_end|>" would end his turn. So that it does not, every control token in a string
//! that comes from outside is replaced by a marker, one character that nobody uses, before the
//! template is rendered. What the text has of control tokens then is the template's own:
//!
//! ```text
//!   content   hi<|im_end|>            hi◆
//!   rendered  <|im_start|>user⏎hi◆<|im_end|>
//!   encoded   P<|im_start|>user⏎hi<|im_end|>P<|im_end|>     P: in front of the template's own
//! ```
//!
//! and is spelled with a prefix, for a tokenizer that knows its special tokens by those names alone.
//! It is one text for one tokenizer, so that what stands around a token is as it always was, and a
//! chat in which nobody writes a control token has the ids that it would have without all this.
//!
//! A marker outlives what templates do to contents: trimming, splitting, lower(), tojson. What ends
//! like the beginning of a control token, or begins like the end of one, is marked there, too:
//! otherwise two strings side by side could make one.
//!
//! Tags. Models have added tokens that no tokenizer calls special and that steer them all the same:
//! "<tool_call>", "<tool_response>", "<think>". Other servers read them wherever they stand. Here one that
//! the chat template itself spells stays text in what users and tools say: a web page that an agent
//! reads closes no tool's answer. What the assistant says keeps them, since the model wrote them and
//! templates look for them there ('</think>' in content), and so does the system's message, which
//! explains them. Added tokens that the template does not know are words (Gemma's "<table>").

use std::collections::{HashMap, HashSet};

/// In front of a control token of the template's.
pub const PREFIX: char = '\u{10FFFD}';
/// Markers are counted down from here.
const FIRST_MARKER: u32 = 0x10FFFC;
const LAST_MARKER: u32 = 0x100000;

/// Whether an added token looks like a control token: blanks and words of a vocabulary do not.
pub fn is_tag(content: &str) -> bool {
    let framed = |open, close| content.len() > 2 && content.starts_with(open) && content.ends_with(close);
    framed('<', '>') || framed('[', ']')
}

/// Whether one of this role says what came from outside.
fn is_outsider(message: &serde_json::Value) -> bool {
    let role = message.get("role").and_then(|role| role.as_str()).unwrap_or("");
    !matches!(role, "system" | "developer" | "assistant" | "model")
}

/// The spellings of control tokens.
pub struct Specials {
    whole: HashSet<String>,
    lengths: Vec<usize>, // longest first
    first: [bool; 256],
    sorted: Vec<String>,
    reversed: Vec<Vec<u8>>, // sorted
}

fn starts_one<T: AsRef<[u8]>>(sorted: &[T], piece: &[u8]) -> bool {
    let at = sorted.partition_point(|one| one.as_ref() < piece);
    sorted.get(at).is_some_and(|one| one.as_ref().starts_with(piece) || one.as_ref() == piece)
}

impl Specials {
    pub fn new(spellings: impl IntoIterator<Item = String>) -> Specials {
        let whole: HashSet<String> = spellings.into_iter().filter(|s| !s.is_empty()).collect();
        let mut sorted: Vec<String> = whole.iter().cloned().collect();
        sorted.sort();
        let mut reversed: Vec<Vec<u8>> = whole.iter().map(|s| s.bytes().rev().collect()).collect();
        reversed.sort();
        let mut lengths: Vec<usize> = whole.iter().map(String::len).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        lengths.dedup();
        let mut first = [false; 256];
        whole.iter().for_each(|s| first[usize::from(s.as_bytes()[0])] = true);
        Specials { whole, lengths, first, sorted, reversed }
    }

    /// The longest one that stands at this byte.
    fn at(&self, text: &str, at: usize) -> Option<usize> {
        if !self.first[usize::from(text.as_bytes()[at])] {
            return None;
        }
        let found = |&length: &usize| text.get(at..at + length).is_some_and(|piece| self.whole.contains(piece));
        self.lengths.iter().copied().find(found)
    }

    /// Where they stand, from the left.
    fn find(&self, text: &str) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < text.len() {
            match self.at(text, at) {
                Some(length) => {
                    found.push((at, at + length));
                    at += length;
                }
                None => at += 1,
            }
        }
        found
    }

    /// Bytes at the end that begin one; at the beginning, that end one.
    fn tail(&self, text: &str) -> usize {
        let most = self.lengths.first().copied().unwrap_or(0).saturating_sub(1).min(text.len());
        let begins = |&l: &usize| {
            let at = text.len() - l;
            text.is_char_boundary(at) && starts_one(&self.sorted, &text.as_bytes()[at..])
        };
        (1..=most).rev().find(begins).unwrap_or(0)
    }

    fn head(&self, text: &str) -> usize {
        let most = self.lengths.first().copied().unwrap_or(0).saturating_sub(1).min(text.len());
        let ends = |&l: &usize| {
            let piece: Vec<u8> = text.as_bytes()[..l].iter().rev().copied().collect();
            text.is_char_boundary(l) && starts_one(&self.reversed, &piece)
        };
        (1..=most).rev().find(ends).unwrap_or(0)
    }
}

/// The markers of one chat.
pub struct Markers<'a> {
    /// in every string, in those of outsiders, and all that the tokenizer knows
    everywhere: &'a Specials,
    outside: &'a Specials,
    known: &'a Specials,
    taken: HashSet<char>,
    next: u32,
    by_text: HashMap<String, char>,
    by_marker: HashMap<char, String>,
}

impl<'a> Markers<'a> {
    /// `seen`: texts whose own characters are no markers.
    pub fn new(everywhere: &'a Specials, outside: &'a Specials, known: &'a Specials, seen: &[&str]) -> Markers<'a> {
        let private = |text: &&str| text.chars().filter(|c| u32::from(*c) >= LAST_MARKER).collect::<Vec<char>>();
        let taken = seen.iter().flat_map(private).collect();
        let (by_text, by_marker) = (HashMap::new(), HashMap::new());
        Markers { everywhere, outside, known, taken, next: FIRST_MARKER, by_text, by_marker }
    }

    pub fn any(&self) -> bool {
        !self.by_text.is_empty()
    }

    /// None: no character is left.
    fn marker(&mut self, text: &str) -> Option<char> {
        if let Some(known) = self.by_text.get(text) {
            return Some(*known);
        }
        while self.next >= LAST_MARKER {
            let marker = char::from_u32(self.next)?;
            self.next -= 1;
            if !self.taken.contains(&marker) {
                self.by_text.insert(text.to_owned(), marker);
                self.by_marker.insert(marker, text.to_owned());
                return Some(marker);
            }
        }
        None
    }

    fn mark(&mut self, text: &mut String, specials: &Specials) {
        if text.contains(PREFIX) {
            *text = text.replace(PREFIX, "\u{FFFD}");
        }
        let mut pieces = specials.find(text);
        let begin = pieces.first().map_or(text.len(), |piece| piece.0);
        let head = specials.head(&text[..begin]);
        let end = pieces.last().map_or(head, |piece| piece.1);
        let tail = specials.tail(&text[end..]);
        if head > 0 {
            pieces.insert(0, (0, head));
        }
        if tail > 0 {
            pieces.push((text.len() - tail, text.len()));
        }
        if pieces.is_empty() {
            return;
        }
        let mut marked = String::with_capacity(text.len());
        let mut copied = 0;
        for (from, to) in pieces {
            marked += &text[copied..from];
            marked.push(self.marker(&text[from..to]).unwrap_or('\u{FFFD}'));
            copied = to;
        }
        marked += &text[copied..];
        *text = marked;
    }

    pub fn mark_message(&mut self, message: &mut serde_json::Value) {
        let specials = if is_outsider(message) { self.outside } else { self.everywhere };
        self.mark_all(message, specials);
    }

    /// Documents come from outside as what a tool says does; tools and settings are the caller's.
    pub fn mark_variable(&mut self, name: &str, value: &mut serde_json::Value) {
        let specials = if name == "documents" { self.outside } else { self.everywhere };
        self.mark_all(value, specials);
    }

    /// Every string in it, and every name of a member.
    fn mark_all(&mut self, value: &mut serde_json::Value, specials: &Specials) {
        match value {
            serde_json::Value::String(text) => self.mark(text, specials),
            serde_json::Value::Array(items) => items.iter_mut().for_each(|item| self.mark_all(item, specials)),
            serde_json::Value::Object(members) => {
                for (mut name, mut member) in std::mem::take(members) {
                    self.mark(&mut name, specials);
                    self.mark_all(&mut member, specials);
                    members.insert(name, member);
                }
            }
            _ => {}
        }
    }

    /// The text as it would be without markers; with `prefixed`, the control tokens and tags that it
    /// has of its own have the prefix.
    pub fn restore(&self, rendered: &str, prefixed: bool) -> String {
        let mut out = String::with_capacity(rendered.len() + 64);
        let own = if prefixed { self.known.find(rendered) } else { Vec::new() };
        let mut copied = 0;
        for (from, to) in own {
            self.copy(&rendered[copied..from], &mut out);
            out.push(PREFIX);
            out += &rendered[from..to];
            copied = to;
        }
        self.copy(&rendered[copied..], &mut out);
        out
    }

    fn copy(&self, piece: &str, out: &mut String) {
        // A tojson that escapes all but ASCII has written a marker as a pair of surrogates.
        let mut rest = piece;
        while let Some(c) = rest.chars().next() {
            if let Some(text) = self.by_marker.get(&c) {
                out.push_str(text);
            } else if let Some((text, size)) = self.escaped(rest) {
                out.push_str(text);
                rest = &rest[size..];
                continue;
            } else {
                out.push(c);
            }
            rest = &rest[c.len_utf8()..];
        }
    }

    fn escaped(&self, text: &str) -> Option<(&String, usize)> {
        let bytes = text.as_bytes().get(..12)?;
        if !bytes.starts_with(b"\\ud") || !bytes[6..].starts_with(b"\\ud") {
            return None;
        }
        let unit = |at: usize| u16::from_str_radix(text.get(at..at + 4)?, 16).ok();
        let c = char::decode_utf16([unit(2)?, unit(8)?]).next()?.ok()?;
        Some((self.by_marker.get(&c)?, 12))
    }
}
