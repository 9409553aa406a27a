//! Bounds on the number of ids of a text, before it is encoded.
//!
//! Rejecting a text that has far more ids than fit should cost no more than reading its length, and
//! rejecting one that has a few too many no more than encoding the ids that fit. Both checks are
//! exact: a text that fits is never rejected.
//!
//! **By length.** An id stands for at most as many bytes as the longest string of the vocabulary:
//!
//!   ids >= bytes / longest
//!
//! This holds if no bytes are lost, so there is a bound only for normalizers and pre-tokenizers that
//! are known to keep all bytes. Bytes without an id in a byte-level vocabulary (many lack a few
//! control characters) are lost and therefore not counted. NFC may join up to four characters.
//! Tokens that strip their surroundings absorb white space, which is then not counted either.
//!
//! **By cutting.** Most tokenizers split words between a letter, digit or mark and the space that
//! follows it. No token of the vocabulary and no pattern of the pre-tokenizer crosses such a place.
//! A text is cut at these places and encoded piece by piece, until there are too many ids. It is not
//! cut if the patterns of the pre-tokenizer are unknown, or if every piece would get a prefix.

use crate::flat_bpe::{Tables, FLAG_BYTE_FALLBACK, FLAG_FUSE_UNK};
use crate::pipeline::Description;
use serde_json::Value;
use tokenizers::AddedToken;

/// The properties of a text that a normalizer or pre-tokenizer preserves.
#[derive(Clone, Copy)]
struct Keeps {
    /// The number of bytes that may become one byte; None if unbounded.
    shrinks: Option<usize>,
    /// A text cut between a visible character and a space gives the same result as the whole text.
    cuts: bool,
}

const ALL: Keeps = Keeps { shrinks: Some(1), cuts: true };
const UNKNOWN: Keeps = Keeps { shrinks: None, cuts: false };

/// A canonical composition joins at most four characters, and keeps at least a quarter of their bytes.
const COMPOSED: usize = 4;

fn both(a: Keeps, b: Keeps) -> Keeps {
    Keeps { shrinks: a.shrinks.zip(b.shrinks).map(|(a, b)| a * b), cuts: a.cuts && b.cuts }
}

fn sequence(list: &Value, each: fn(&Value) -> Keeps) -> Keeps {
    list.as_array().map_or(UNKNOWN, |list| list.iter().map(each).fold(ALL, both))
}

fn normalizer(value: &Value) -> Keeps {
    if value.is_null() {
        return ALL;
    }
    match value["type"].as_str() {
        Some("Sequence") => sequence(&value["normalizers"], normalizer),
        Some("NFC") => Keeps { shrinks: Some(COMPOSED), cuts: true },
        Some("Prepend") => Keeps { shrinks: Some(1), cuts: false },
        Some("Replace") if value["pattern"]["String"] == " " && value["content"] == "▁" => ALL,
        _ => UNKNOWN,
    }
}

/// Patterns that never match from a non-space character across the space after it, nor look beyond that space.
/// They are the patterns of GPT-2, Llama 3, Qwen 2, Tekken, GPT-4o, Qwen 3.5 and Kimi K2, and the three of DeepSeek V3.
const PATTERNS: [&str; 10] = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
        r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}",
        r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    concat!(
        r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*",
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+",
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    r"\p{N}{1,3}",
    "[一-龥\u{3040}-ゟ゠-ヿ]+",
    concat!(
        r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"##,
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
];

fn pre_tokenizer(value: &Value) -> Keeps {
    if value.is_null() {
        return ALL;
    }
    match value["type"].as_str() {
        Some("Sequence") => sequence(&value["pretokenizers"], pre_tokenizer),
        Some("Digits") => ALL,
        Some("ByteLevel") => Keeps { shrinks: Some(1), cuts: value["add_prefix_space"] == false },
        Some("Metaspace") => Keeps { shrinks: Some(1), cuts: false },
        // "Removed" is the only behaviour that drops its matches.
        Some("Split") if value["behavior"] != "Removed" && value["invert"] == false => {
            let pattern = &value["pattern"];
            // Gemma's pattern never matches, because its normalizer has replaced all spaces.
            let known = pattern["String"] == " " && value["behavior"] == "MergedWithPrevious"
                || value["behavior"] == "Isolated"
                    && pattern["Regex"].as_str().is_some_and(|text| PATTERNS.contains(&text));
            Keeps { shrinks: Some(1), cuts: known }
        }
        _ => UNKNOWN,
    }
}

pub struct Bounds {
    /// The largest number of bytes that an id stands for; None if unbounded.
    longest: Option<usize>,
    /// For each byte, whether it may have no id.
    silent: [bool; 256],
    /// Characters may be replaced by others.
    composes: bool,
    /// White space may be absorbed by a neighbouring token.
    strips: bool,
    /// ASCII characters after which a space always begins a new token.
    borders: [bool; 128],
}

/// Returns the bytes that have no id. Returns None if the id of an unknown token may stand for several characters.
fn silent_bytes(tables: &Tables, byte_level: bool) -> Option<[bool; 256]> {
    let mut silent = [true; 256];
    if byte_level {
        for id in 0..tables.ids {
            if let [byte] = *tables.bytes(id) {
                silent[byte as usize] = false;
            }
        }
        return Some(silent);
    }
    let complete = tables.has(FLAG_BYTE_FALLBACK)
        && (0..256).all(|b| tables.lookup(format!("<{b:#04X}>").as_bytes()).is_some());
    complete.then_some([false; 256])
}

/// Removes from `borders` the characters that are followed by a space in `bytes`.
fn part(borders: &mut [bool; 128], bytes: &[u8]) {
    for pair in bytes.windows(2) {
        if pair[0].is_ascii() && pair[1] == b' ' {
            borders[pair[0] as usize] = false;
        }
    }
}

impl Bounds {
    pub fn new(tables: &Tables, description: &Description, added: &[(u32, AddedToken)]) -> Bounds {
        let unreadable = |_| Value::String("?".into());
        let split = serde_json::to_value(&description.pre_tokenizer).unwrap_or_else(unreadable);
        let normal = serde_json::to_value(&description.normalizer).unwrap_or_else(unreadable);
        let keeps = both(normalizer(&normal), pre_tokenizer(&split));
        let byte_level = split.to_string().contains("\"ByteLevel\"");
        let plain = tables.has_bpe() && description.prefix.is_empty() && description.suffix.is_empty();
        let silent = silent_bytes(tables, byte_level).filter(|_| plain);
        // Bytes that never occur in UTF-8 do not matter.
        let complete = silent.is_some_and(|silent| (0..=0xf4).all(|b| !silent[b] || b == 0xc0 || b == 0xc1));
        let cuts = keeps.cuts && plain && (complete || !tables.has(FLAG_FUSE_UNK));
        // A "▁" in the text has three bytes. A "▁" that stands for a space has one.
        let longest = (0..tables.ids).map(|id| tables.bytes(id).len().max(tables.string(id).len())).max().unwrap_or(0);
        let mut borders: [bool; 128] = std::array::from_fn(|c| cuts && (c as u8).is_ascii_graphic());
        for id in 0..tables.ids {
            part(&mut borders, tables.bytes(id));
        }
        for (_, token) in added {
            part(&mut borders, token.content.as_bytes());
            if token.rstrip || token.single_word {
                borders = [false; 128];
            }
        }
        Bounds {
            longest: keeps.shrinks.filter(|_| silent.is_some()).map(|factor| longest.max(1) * factor),
            silent: silent.unwrap_or([true; 256]),
            composes: keeps.shrinks != Some(1),
            strips: added.iter().any(|(_, token)| token.lstrip || token.rstrip),
            borders,
        }
    }

    /// Counts the bytes of the text that certainly contribute to an id, whatever their neighbours, up to `enough`.
    fn counted(&self, text: &str, enough: usize) -> usize {
        let bytes = text.as_bytes();
        let known = |byte: u8| !self.silent[byte as usize];
        if self.composes && (0x80..=0xf4).any(|b| self.silent[b] && b != 0xc0 && b != 0xc1) {
            // A composed character may have no id, so only characters that cannot compose count.
            let alone = |at: usize| bytes[at].is_ascii() && bytes.get(at + 1).is_none_or(u8::is_ascii);
            let white = |byte: u8| self.strips && byte.is_ascii_whitespace();
            let counts = |at: &usize| alone(*at) && known(bytes[*at]) && !white(bytes[*at]);
            return (0..bytes.len()).filter(counts).take(enough).count();
        }
        if !self.strips {
            return bytes.iter().filter(|&&byte| known(byte)).take(enough).count();
        }
        let shown = text.char_indices().filter(|(_, c)| !c.is_whitespace());
        let of = shown.flat_map(|(at, c)| bytes[at..at + c.len_utf8()].iter());
        of.filter(|&&byte| known(byte)).take(enough).count()
    }

    /// Returns whether the length of the text alone proves that it has more than `most` ids.
    pub fn exceeds(&self, text: &str, most: usize) -> bool {
        let Some(enough) = self.longest.and_then(|longest| most.checked_mul(longest)) else { return false };
        text.len() > enough && self.counted(text, enough + 1) > enough
    }

    /// Splits the text into pieces of at least `size` bytes, except the last piece. A text that may not be cut is one
    /// piece.
    pub fn pieces<'a>(&'a self, text: &'a str, size: usize) -> impl Iterator<Item = &'a str> + 'a {
        let mut rest = text;
        let mut any = true; // an empty text is one piece
        std::iter::from_fn(move || {
            if rest.is_empty() && !std::mem::take(&mut any) {
                return None;
            }
            any = false;
            let from = size.max(1);
            let bytes = rest.as_bytes();
            let border = |byte: u8| byte.is_ascii() && self.borders[byte as usize];
            let cut = (from..bytes.len()).find(|&at| bytes[at] == b' ' && border(bytes[at - 1])).unwrap_or(bytes.len());
            let (piece, left) = rest.split_at(cut);
            rest = left;
            Some(piece)
        })
    }
}
