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
//! pre-tokenizers that are known to keep all. Bytes that a byte-level vocabulary has no id for (many
//! lack a few control characters) vanish, and are not counted. NFC may join up to four characters;
//! tokens that strip take white space with them, which is then not counted.
//!
//! **By cutting.** Between a letter, digit or mark and the space behind it most tokenizers part words
//! anyway: no token of the vocabulary reaches over that place, and no pattern of the pre-tokenizer.
//! There a text is cut, encoded piece by piece, and left when there are ids enough. Pre-tokenizers
//! whose patterns were not looked at, and prefixes that every piece would get, mean: no cuts.

use crate::flat_bpe::{Tables, FLAG_BYTE_FALLBACK, FLAG_FUSE_UNK};
use crate::pipeline::Description;
use serde_json::Value;
use tokenizers::AddedToken;

/// What a normalizer or pre-tokenizer leaves as it was.
#[derive(Clone, Copy)]
struct Keeps {
    /// So many bytes may become one; None: any number.
    shrinks: Option<usize>,
    /// What is cut between a character that is shown and a space comes out as if it were whole.
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

/// Patterns none of which reaches from what is no white space over the space behind it, nor looks beyond it.
/// GPT-2's, Llama 3's, Qwen 2's, Tekken's, GPT-4o's, Qwen 3.5's, Kimi K2's and the three of DeepSeek V3.
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
    /// Bytes that may have no id.
    silent: [bool; 256],
    /// Characters may become others.
    composes: bool,
    /// White space may belong to a token beside it.
    strips: bool,
    /// ASCII characters behind which a space begins something new.
    borders: [bool; 128],
}

/// Bytes of UTF-8 that have no id of their own. None: a character may stand for others, too.
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

/// Takes away the characters that the bytes have a space behind.
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
        // Not those that no UTF-8 has.
        let complete = silent.is_some_and(|silent| (0..=0xf4).all(|b| !silent[b] || b == 0xc0 || b == 0xc1));
        let cuts = keeps.cuts && plain && (complete || !tables.has(FLAG_FUSE_UNK));
        // A "▁" in the text has three bytes, that of a space one.
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

    /// Bytes of the text that some id stands for, whatever stands beside them; at most `enough`.
    fn counted(&self, text: &str, enough: usize) -> usize {
        let bytes = text.as_bytes();
        let known = |byte: u8| !self.silent[byte as usize];
        if self.composes && (0x80..=0xf4).any(|b| self.silent[b] && b != 0xc0 && b != 0xc1) {
            // What is composed may be a character without an id: only what nothing is composed with counts.
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

    /// Whether the text has more than `most` ids, as far as its length says.
    pub fn exceeds(&self, text: &str, most: usize) -> bool {
        let Some(enough) = self.longest.and_then(|longest| most.checked_mul(longest)) else { return false };
        text.len() > enough && self.counted(text, enough + 1) > enough
    }

    /// The text in pieces of at least `size` bytes, but for the last; one where it may not be cut.
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
