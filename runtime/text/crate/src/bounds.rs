//! What is known of a text's ids before it is encoded.
//!
//! A text that has far more ids than there is room for should be refused for the price of its
//! length, and one that has somewhat more for the price of the ids that fit. Both must be exact:
//! no text that fits is ever refused.
//!
//! **By length.** An id stands for at most as many bytes as the longest string of the vocabulary:
//!
//!   ids >= bytes / longest
//!
//! as long as nothing vanishes on the way. So there is a bound only for normalizers and
//! pre-tokenizers that are known to keep all, and for models that know every byte. NFC may join up
//! to four characters; tokens that strip take white space with them, which is then not counted.
//!
//! **By cutting.** Between a letter and the space behind it most tokenizers part words anyway: no
//! token of the vocabulary reaches over that place, and no pattern of the pre-tokenizer. There a
//! text is cut, encoded piece by piece, and left when there are ids enough. Pre-tokenizers whose
//! patterns were not looked at, and prefixes that every piece would get, mean: no cuts.

use crate::flat_bpe::{Tables, FLAG_BYTE_FALLBACK, FLAG_FUSE_UNK};
use crate::pipeline::Description;
use serde_json::Value;
use tokenizers::AddedToken;

/// What a normalizer or pre-tokenizer leaves as it was.
#[derive(Clone, Copy)]
struct Keeps {
    /// So many bytes may become one; None: any number.
    shrinks: Option<usize>,
    /// What is cut between a letter and a space comes out as if it were whole.
    cuts: bool,
}

const ALL: Keeps = Keeps { shrinks: Some(1), cuts: true };
const UNKNOWN: Keeps = Keeps { shrinks: None, cuts: false };

/// A canonical composition joins four characters at most, to no less than a quarter of their bytes.
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

/// Patterns none of which reaches from a letter over the space behind it, nor looks beyond it.
/// GPT-2's, Llama 3's, Qwen 2's, Tekken's and GPT-4o's.
const PATTERNS: [&str; 5] = [
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
        // "Removed" is the one behaviour that drops what it finds.
        Some("Split") if value["behavior"] != "Removed" && value["invert"] == false => {
            let pattern = &value["pattern"];
            // Gemma's finds nothing: its normalizer has left no space.
            let known = pattern["String"] == " " && value["behavior"] == "MergedWithPrevious"
                || value["behavior"] == "Isolated"
                    && pattern["Regex"].as_str().is_some_and(|text| PATTERNS.contains(&text));
            Keeps { shrinks: Some(1), cuts: known }
        }
        _ => UNKNOWN,
    }
}

pub struct Bounds {
    /// Bytes that an id stands for at most; None: any number.
    longest: Option<usize>,
    /// White space may belong to a token beside it.
    strips: bool,
    cuts: bool,
}

/// Every character has an id, if need be one for each of its bytes.
fn knows_every_byte(tables: &Tables, byte_level: bool) -> bool {
    if byte_level {
        let mut found = [false; 256];
        for id in 0..tables.ids {
            if let [byte] = *tables.bytes(id) {
                found[byte as usize] = true;
            }
        }
        // Not those that no UTF-8 has.
        return (0..=0xf4).all(|byte| found[byte] || byte == 0xc0 || byte == 0xc1);
    }
    tables.has(FLAG_BYTE_FALLBACK) && (0..256).all(|b| tables.lookup(format!("<{b:#04X}>").as_bytes()).is_some())
}

/// Whether the bytes have a letter with a space behind it.
fn parted(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair[0].is_ascii_alphabetic() && pair[1] == b' ')
}

impl Bounds {
    pub fn new(tables: &Tables, description: &Description, added: &[(u32, AddedToken)]) -> Bounds {
        let unreadable = |_| Value::String("?".into());
        let split = serde_json::to_value(&description.pre_tokenizer).unwrap_or_else(unreadable);
        let normal = serde_json::to_value(&description.normalizer).unwrap_or_else(unreadable);
        let keeps = both(normalizer(&normal), pre_tokenizer(&split));
        let byte_level = split.to_string().contains("\"ByteLevel\"");
        let plain = tables.has_bpe() && description.prefix.is_empty() && description.suffix.is_empty();
        // Characters without an id vanish, or become one "unknown" for any number of them.
        let complete = plain && knows_every_byte(tables, byte_level);
        let keeps = Keeps {
            shrinks: keeps.shrinks.filter(|_| complete),
            cuts: keeps.cuts && plain && (complete || !tables.has(FLAG_FUSE_UNK)),
        };
        // A "▁" in the text has three bytes, that of a space one.
        let longest = (0..tables.ids).map(|id| tables.bytes(id).len().max(tables.string(id).len())).max().unwrap_or(0);
        let cuts = keeps.cuts
            && !(0..tables.ids).any(|id| parted(tables.bytes(id)))
            && !added.iter().any(|(_, token)| token.rstrip || token.single_word || parted(token.content.as_bytes()));
        Bounds {
            longest: keeps.shrinks.map(|factor| longest.max(1) * factor),
            strips: added.iter().any(|(_, token)| token.lstrip || token.rstrip),
            cuts,
        }
    }

    /// A number of ids that the text has at least.
    pub fn least(&self, text: &str) -> usize {
        let Some(longest) = self.longest else { return 0 };
        let counted = if self.strips {
            text.chars().filter(|c| !c.is_whitespace()).map(char::len_utf8).sum()
        } else {
            text.len()
        };
        counted.div_ceil(longest)
    }

    /// The text in pieces of at least `size` bytes, but for the last; one where it may not be cut.
    pub fn pieces<'a>(&self, text: &'a str, size: usize) -> impl Iterator<Item = &'a str> {
        let mut rest = if self.cuts { text } else { "" };
        let mut whole = (!self.cuts).then_some(text);
        std::iter::from_fn(move || {
            if let Some(all) = whole.take() {
                return Some(all);
            }
            if rest.is_empty() {
                return None;
            }
            let from = size.clamp(1, rest.len());
            let bytes = rest.as_bytes();
            let cut = (from..bytes.len())
                .find(|&at| bytes[at] == b' ' && bytes[at - 1].is_ascii_alphabetic())
                .unwrap_or(bytes.len());
            let (piece, left) = rest.split_at(cut);
            rest = left;
            Some(piece)
        })
    }
}
