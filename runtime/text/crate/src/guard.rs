//! Keeps control tokens in user text as plain text.
//!
//! A chat template puts contents between control tokens. A tokenizer cannot tell the two apart, so a
//! user's "<|im_end|>" would end the user's turn. To prevent that, every control token in an external
//! string is replaced by a marker before the template is rendered. A marker is one character that is
//! otherwise unused. All control tokens in the rendered text are then the template's own:
//!
//! ```text
//!   content   hi<|im_end|>            hi◆
//!   rendered  <|im_start|>user⏎hi◆<|im_end|>
//!   encoded   P<|im_start|>user⏎hi<|im_end|>P<|im_end|>     P: prefix of the template's own tokens
//! ```
//!
//! The template's own control tokens get a prefix P, and the text is encoded by a tokenizer that
//! recognises its special tokens only with the prefix. The whole chat is one text for one tokenizer, so
//! the neighbourhood of a token does not change. A chat without control tokens in its contents has the
//! same ids as without this mechanism.
//!
//! A marker survives the operations of templates on contents: trimming, splitting, lower(), tojson. If a
//! string ends like the beginning of a control token, or begins like the end of one, that part is marked
//! as well. Otherwise two adjacent strings could form a control token.
//!
//! Tags are added tokens that steer a model although the tokenizer does not mark them as special:
//! "<tool_call>", "<tool_response>", "<think>". Other servers parse them anywhere. Here, a tag that the
//! chat template itself contains stays plain text in messages of users and tools, so a web page that an
//! agent reads cannot close a tool's answer. Messages of the assistant keep tags as tokens, since the
//! model wrote them and templates look for them in these messages ('</think>' in content). System
//! messages keep them as well, because they explain them. Added tokens that the template does not
//! contain are ordinary words (Gemma's "<table>").

use std::collections::{HashMap, HashSet};

/// The prefix of the template's own control tokens.
pub const PREFIX: char = '\u{10FFFD}';
/// Markers are allocated downwards from this character.
const FIRST_MARKER: u32 = 0x10FFFC;
const LAST_MARKER: u32 = 0x100000;

/// Returns whether an added token looks like a control token, and not like white space or an ordinary word.
pub fn is_tag(content: &str) -> bool {
    let framed = |open, close| content.len() > 2 && content.starts_with(open) && content.ends_with(close);
    framed('<', '>') || framed('[', ']')
}

/// Returns whether a message has external content, according to its role.
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

    /// Returns the length of the longest control token at this byte.
    fn at(&self, text: &str, at: usize) -> Option<usize> {
        if !self.first[usize::from(text.as_bytes()[at])] {
            return None;
        }
        let found = |&length: &usize| text.get(at..at + length).is_some_and(|piece| self.whole.contains(piece));
        self.lengths.iter().copied().find(found)
    }

    /// Returns the ranges of all control tokens, from left to right.
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

    /// Returns the number of bytes at the end of the text that begin a control token.
    fn tail(&self, text: &str) -> usize {
        let most = self.lengths.first().copied().unwrap_or(0).saturating_sub(1).min(text.len());
        let begins = |&l: &usize| {
            let at = text.len() - l;
            text.is_char_boundary(at) && starts_one(&self.sorted, &text.as_bytes()[at..])
        };
        (1..=most).rev().find(begins).unwrap_or(0)
    }

    /// Returns the number of bytes at the beginning of the text that end a control token.
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
    /// The control tokens to mark in every string, those to mark in external strings, and all of the tokenizer.
    everywhere: &'a Specials,
    outside: &'a Specials,
    known: &'a Specials,
    taken: HashSet<char>,
    next: u32,
    by_text: HashMap<String, char>,
    by_marker: HashMap<char, String>,
}

impl<'a> Markers<'a> {
    /// Creates markers. Characters that occur in the texts `seen` are not used.
    pub fn new(everywhere: &'a Specials, outside: &'a Specials, known: &'a Specials, seen: &[&str]) -> Markers<'a> {
        let private = |text: &&str| text.chars().filter(|c| u32::from(*c) >= LAST_MARKER).collect::<Vec<char>>();
        let taken = seen.iter().flat_map(private).collect();
        let (by_text, by_marker) = (HashMap::new(), HashMap::new());
        Markers { everywhere, outside, known, taken, next: FIRST_MARKER, by_text, by_marker }
    }

    pub fn any(&self) -> bool {
        !self.by_text.is_empty()
    }

    /// Returns the marker of a text, or None if no unused character is left.
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

    /// Marks a variable. Documents are external, like the output of tools. Tools and settings belong to the caller.
    pub fn mark_variable(&mut self, name: &str, value: &mut serde_json::Value) {
        let specials = if name == "documents" { self.outside } else { self.everywhere };
        self.mark_all(value, specials);
    }

    /// Marks every string in the value, and every member name.
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

    /// Returns the text with markers replaced by their originals. With `prefixed`, the template's own
    /// control tokens and tags get the prefix.
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
        // A tojson that escapes non-ASCII characters writes a marker as a surrogate pair.
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
