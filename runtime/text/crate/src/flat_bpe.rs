//! BPE over tables that are read in place.
//!
//! Hugging Face's BPE model builds hash maps of the whole vocabulary and all merges when it starts,
//! which takes about a second and 280 MB for Gemma's 262,144 tokens. A server pays that once, but a
//! command line pays it for each prompt. The engine file therefore stores the same model in the form
//! in which it is used. Opening it reads a header, and encoding touches only the pages it needs.
//!
//! ```text
//!   header   magic, counts, flags, positions of the sections
//!   json     normalizer, pre-tokenizer, added tokens (small; read by HF's own code)
//!   strings  u32 offsets[ids + 1], then the token strings
//!   bytes    u32 offsets[ids + 1], then the bytes that each token decodes to
//!   special  one bit per id
//!   hash     u32 slots[2^k], id + 1 or 0: open addressing by FNV-1a of the token string
//!   merges   u32 offsets[ids + 1] by left id, then (right, rank, merged) sorted by right
//! ```
//!
//! The merge loop does the same as the loop of `tokenizers` 0.23 (models/bpe/word.rs), in the same order: lowest rank
//! first, and leftmost among equal ranks. Every access is checked, so damaged tables lead to an error or wrong ids,
//! never to a read out of bounds.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::path::{Path, PathBuf};
use tokenizers::models::bpe::BpeTrainer;
use tokenizers::{Model, Token};

pub const MAGIC: [u8; 8] = *b"INGTOK\x01\0";
pub const NO_ID: u32 = u32::MAX;
/// The tokenizer names an unknown token that its vocabulary does not have. Encoding fails when it is needed.
pub const BAD_UNK: u32 = u32::MAX - 1;

pub const FLAG_BYTE_FALLBACK: u32 = 1;
pub const FLAG_FUSE_UNK: u32 = 2;
pub const FLAG_IGNORE_MERGES: u32 = 4;
pub const FLAG_DROP_SPACE: u32 = 8;

pub const SECTIONS: usize = 9;
pub const JSON: usize = 0;
pub const STRING_OFFSETS: usize = 1;
pub const STRINGS: usize = 2;
pub const BYTE_OFFSETS: usize = 3;
pub const BYTES: usize = 4;
pub const SPECIAL: usize = 5;
pub const HASH: usize = 6;
pub const MERGE_OFFSETS: usize = 7;
pub const MERGES: usize = 8;
pub const HEADER: usize = 8 + 4 * 4 + SECTIONS * 16;

/// A view of a tokenizer segment.
#[derive(Clone, Copy)]
pub struct Tables {
    sections: [&'static [u8]; SECTIONS],
    pub ids: u32,
    pub vocab: u32,
    pub flags: u32,
    pub unk: u32,
}

fn word(bytes: &[u8], index: usize) -> Option<u32> {
    let at = index.checked_mul(4)?;
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

pub fn fnv1a(text: &[u8]) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for &byte in text {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    (hash ^ (hash >> 32)) as u32
}

impl Tables {
    /// Opens a segment. The caller guarantees that the bytes outlive every use of the view.
    pub fn open(data: &'static [u8]) -> Result<Tables, String> {
        let header = data.get(..HEADER).ok_or("shorter than its header")?;
        if header[..8] != MAGIC {
            return Err("not a tokenizer segment (magic number)".into());
        }
        let field = |i: usize| word(&header[8..], i).unwrap();
        let mut sections = [&data[..0]; SECTIONS];
        for (i, section) in sections.iter_mut().enumerate() {
            let at = 24 + 16 * i;
            let offset = u64::from_le_bytes(header[at..at + 8].try_into().unwrap());
            let size = u64::from_le_bytes(header[at + 8..at + 16].try_into().unwrap());
            let range = usize::try_from(offset)
                .ok()
                .and_then(|begin| Some(begin..begin.checked_add(usize::try_from(size).ok()?)?));
            *section = range
                .and_then(|range| data.get(range))
                .ok_or_else(|| format!("section {i} lies outside ({offset} + {size} of {})", data.len()))?;
        }
        let tables = Tables { sections, ids: field(0), vocab: field(1), flags: field(2), unk: field(3) };
        let ids = tables.ids as usize;
        let needed = [(STRING_OFFSETS, 4 * (ids + 1)), (BYTE_OFFSETS, 4 * (ids + 1)), (SPECIAL, ids.div_ceil(8))];
        for (i, size) in needed {
            if sections[i].len() != size {
                return Err(format!("section {i} has {} bytes, {ids} ids need {size}", sections[i].len()));
            }
        }
        Ok(tables)
    }

    pub fn json(&self) -> &'static [u8] {
        self.sections[JSON]
    }

    pub fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    fn item(&self, offsets: usize, content: usize, id: u32) -> &'static [u8] {
        let begin = word(self.sections[offsets], id as usize);
        let end = word(self.sections[offsets], id as usize + 1);
        match (begin, end) {
            (Some(begin), Some(end)) => self.sections[content].get(begin as usize..end as usize).unwrap_or(&[]),
            _ => &[],
        }
    }

    pub fn string(&self, id: u32) -> &'static [u8] {
        self.item(STRING_OFFSETS, STRINGS, id)
    }

    pub fn bytes(&self, id: u32) -> &'static [u8] {
        self.item(BYTE_OFFSETS, BYTES, id)
    }

    pub fn is_special(&self, id: u32) -> bool {
        id < self.ids && self.sections[SPECIAL].get(id as usize / 8).is_some_and(|b| b >> (id % 8) & 1 == 1)
    }

    /// Returns whether the segment has BPE tables. Otherwise the model is in the JSON section.
    pub fn has_bpe(&self) -> bool {
        !self.sections[MERGE_OFFSETS].is_empty()
    }

    pub fn lookup(&self, text: &[u8]) -> Option<u32> {
        let slots = self.sections[HASH].len() / 4;
        if !slots.is_power_of_two() {
            return None;
        }
        let mut slot = fnv1a(text) as usize & (slots - 1);
        for _ in 0..slots {
            match word(self.sections[HASH], slot)? {
                0 => return None,
                id if self.string(id - 1) == text => return Some(id - 1),
                _ => slot = (slot + 1) & (slots - 1),
            }
        }
        None
    }

    /// Returns the (rank, merged id) of a pair.
    fn merge(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        let offsets = self.sections[MERGE_OFFSETS];
        let merges = self.sections[MERGES];
        let mut low = word(offsets, left as usize)? as usize;
        let mut high = word(offsets, left as usize + 1)? as usize;
        while low < high {
            let middle = low + (high - low) / 2;
            match word(merges, middle.checked_mul(3)?)?.cmp(&right) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some((word(merges, 3 * middle + 1)?, word(merges, 3 * middle + 2)?)),
            }
        }
        None
    }
}

#[derive(Clone, Copy)]
struct Symbol {
    id: u32,
    live: bool,
    previous: u32,
    next: u32,
}

/// A pair that could be merged. The greatest element of the heap has the lowest rank, and is the leftmost of those.
#[derive(PartialEq, Eq)]
struct Candidate {
    rank: u32,
    position: u32,
    merged: u32,
}
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.rank, other.position).cmp(&(self.rank, self.position))
    }
}
impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

const END: u32 = u32::MAX;

pub struct FlatBpe {
    tables: Tables,
    /// Ids of the characters below 0x180 (which include all that byte-level vocabularies use), or NO_ID.
    first: Vec<u32>,
    /// Ids of "<0x00>" … "<0xFF>" if byte fallback is on, or NO_ID.
    fallback: Vec<u32>,
    prefix: String,
    suffix: String,
}

impl FlatBpe {
    pub fn new(tables: Tables, prefix: String, suffix: String) -> FlatBpe {
        let find = |text: &str| tables.lookup(text.as_bytes()).unwrap_or(NO_ID);
        let first = (0..0x180u32).map(|c| char::from_u32(c).map_or(NO_ID, |c| find(c.encode_utf8(&mut [0; 4]))));
        let fallback = (0..256u32).filter(|_| tables.has(FLAG_BYTE_FALLBACK)).map(|b| find(&format!("<{b:#04X}>")));
        FlatBpe { tables, first: first.collect(), fallback: fallback.collect(), prefix, suffix }
    }

    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    fn piece(&self, piece: &str, decorated: bool) -> Option<u32> {
        if !decorated {
            let mut chars = piece.chars();
            if let (Some(c), None) = (chars.next(), chars.next()) {
                if let Some(&id) = self.first.get(c as usize) {
                    return (id != NO_ID).then_some(id);
                }
            }
        }
        self.tables.lookup(piece.as_bytes())
    }

    fn unknown(&self) -> Result<u32, String> {
        match self.tables.unk {
            BAD_UNK => Err("the unknown token is not in the vocabulary".into()),
            id => Ok(id),
        }
    }

    /// Returns the initial symbols of a word: characters, their bytes, or the unknown token. The order of
    /// unknown tokens and byte tokens is the library's, including its oddities.
    fn symbols(&self, text: &str) -> Result<Vec<u32>, String> {
        let mut ids = Vec::with_capacity(text.len());
        let mut unknown: Option<u32> = None;
        let decorated = !self.prefix.is_empty() || !self.suffix.is_empty();
        for (at, c) in text.char_indices() {
            let plain = &text[at..at + c.len_utf8()];
            let last = at + c.len_utf8() == text.len();
            let whole;
            let piece = if decorated {
                let prefix = if at > 0 { self.prefix.as_str() } else { "" };
                whole = format!("{prefix}{plain}{}", if last { self.suffix.as_str() } else { "" });
                whole.as_str()
            } else {
                plain
            };
            if let Some(id) = self.piece(piece, decorated) {
                ids.extend(unknown.take());
                ids.push(id);
                continue;
            }
            if self.tables.has(FLAG_BYTE_FALLBACK) {
                let bytes: Vec<u32> = piece.bytes().map(|b| self.fallback[b as usize]).collect();
                if bytes.iter().all(|&id| id != NO_ID) {
                    ids.extend(bytes);
                    continue;
                }
            }
            if self.tables.unk != NO_ID {
                if unknown.is_some() && !self.tables.has(FLAG_FUSE_UNK) {
                    ids.extend(unknown.take());
                }
                unknown = Some(self.unknown()?);
            }
        }
        ids.extend(unknown);
        Ok(ids)
    }

    fn candidate(&self, left: u32, right: u32, position: u32) -> Option<Candidate> {
        let (rank, merged) = self.tables.merge(left, right)?;
        Some(Candidate { rank, position, merged })
    }

    fn merge_all(&self, ids: Vec<u32>) -> Vec<u32> {
        let count = ids.len() as u32;
        let mut word: Vec<Symbol> = (0..count)
            .zip(&ids)
            .map(|(i, &id)| Symbol {
                id,
                live: true,
                previous: i.wrapping_sub(1),
                next: if i + 1 < count { i + 1 } else { END },
            })
            .collect();
        let pairs = ids.windows(2).zip(0..);
        let mut queue: BinaryHeap<Candidate> =
            pairs.filter_map(|(pair, i)| self.candidate(pair[0], pair[1], i)).collect();

        while let Some(top) = queue.pop() {
            let left = word[top.position as usize];
            if !left.live || left.next == END {
                continue;
            }
            let right = word[left.next as usize];
            // An entry is stale if its symbols have since become part of another token.
            if self.tables.merge(left.id, right.id).is_none_or(|(_, merged)| merged != top.merged) {
                continue;
            }
            word[left.next as usize].live = false;
            word[top.position as usize] = Symbol { id: top.merged, next: right.next, ..left };
            if right.next != END {
                word[right.next as usize].previous = top.position;
                queue.extend(self.candidate(top.merged, word[right.next as usize].id, top.position));
            }
            if left.previous != END {
                queue.extend(self.candidate(word[left.previous as usize].id, top.merged, left.previous));
            }
        }
        word.iter().filter(|s| s.live).map(|s| s.id).collect()
    }
}

impl Model for FlatBpe {
    type Trainer = BpeTrainer;

    fn tokenize(&self, text: &str) -> tokenizers::Result<Vec<Token>> {
        // Only the ids are needed, so the tokens have empty strings, which cost nothing.
        let token = |id| Token::new(id, String::new(), (0, 0));
        if text.is_empty() {
            return Ok(vec![]);
        }
        if self.tables.has(FLAG_IGNORE_MERGES) {
            if let Some(id) = self.tables.lookup(text.as_bytes()) {
                return Ok(vec![token(id)]);
            }
        }
        Ok(self.merge_all(self.symbols(text)?).into_iter().map(token).collect())
    }

    fn token_to_id(&self, token: &str) -> Option<u32> {
        self.tables.lookup(token.as_bytes())
    }

    fn id_to_token(&self, id: u32) -> Option<String> {
        (id < self.tables.ids).then(|| String::from_utf8_lossy(self.tables.string(id)).into_owned())
    }

    fn get_vocab(&self) -> HashMap<String, u32> {
        (0..self.tables.ids).filter_map(|id| Some((self.id_to_token(id)?, id))).collect()
    }

    /// Returns the first id for added tokens that are not in the vocabulary.
    fn get_vocab_size(&self) -> usize {
        self.tables.vocab as usize
    }

    fn save(&self, _: &Path, _: Option<&str>) -> tokenizers::Result<Vec<PathBuf>> {
        Err("a tokenizer of an engine cannot be saved".into())
    }

    fn get_trainer(&self) -> BpeTrainer {
        BpeTrainer::default()
    }
}
