//! Compiles tokenizer.json into a tokenizer segment.

use crate::decoding::DecodeRule;
use crate::flat_bpe::*;
use crate::pipeline::{pack_added, Backend, Description, Tokenizer};
use crate::token_files::{self, Affixes, Files};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use tokenizers::AddedToken;

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow, default)]
    added_tokens: Vec<&'a RawValue>,
    #[serde(borrow)]
    normalizer: Option<&'a RawValue>,
    #[serde(borrow)]
    pre_tokenizer: Option<&'a RawValue>,
    post_processor: Option<serde_json::Value>,
    #[serde(borrow)]
    decoder: Option<&'a RawValue>,
    #[serde(borrow)]
    model: &'a RawValue,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Bpe<'a> {
    vocab: HashMap<String, u32>,
    #[serde(borrow)]
    merges: &'a RawValue,
    dropout: Option<f32>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    fuse_unk: Option<bool>,
    byte_fallback: Option<bool>,
    ignore_merges: Option<bool>,
}

/// The largest number of ids. A vocabulary with more is rejected.
const MOST_IDS: usize = 4 << 20;

fn parse<'a, T: Deserialize<'a>>(what: &str, text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|e| format!("{what}: {e}"))
}

fn parse_optional<'a, T: Deserialize<'a>>(what: &str, raw: Option<&'a RawValue>) -> Result<Option<T>, String> {
    raw.map_or(Ok(None), |raw| parse(what, raw.get()))
}

/// The parts of a segment while it is being built.
#[derive(Default)]
struct Segment {
    sections: [Vec<u8>; SECTIONS],
    ids: u32,
    vocab: u32,
    flags: u32,
    unk: u32,
}

impl Segment {
    fn finish(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        for field in [self.ids, self.vocab, self.flags, self.unk] {
            out.extend(field.to_le_bytes());
        }
        let mut at = HEADER as u64;
        for section in &self.sections {
            at = at.next_multiple_of(8);
            out.extend(at.to_le_bytes());
            out.extend((section.len() as u64).to_le_bytes());
            at += section.len() as u64;
        }
        for section in &self.sections {
            out.resize(out.len().next_multiple_of(8), 0);
            out.extend(section);
        }
        out
    }

    fn set_words(&mut self, section: usize, words: impl IntoIterator<Item = u32>) {
        self.sections[section] = words.into_iter().flat_map(u32::to_le_bytes).collect();
    }

    fn set_items(&mut self, offsets: usize, content: usize, items: &[Vec<u8>]) -> Result<(), String> {
        let mut ends = vec![0u32];
        let mut all = Vec::new();
        for item in items {
            all.extend(item);
            ends.push(u32::try_from(all.len()).map_err(|_| "the token strings exceed 4 GiB")?);
        }
        self.set_words(offsets, ends);
        self.sections[content] = all;
        Ok(())
    }
}

/// Sets the BPE sections. Returns `Ok(false)` if two tokens share an id, which the tables cannot represent.
fn set_bpe(segment: &mut Segment, model: &Bpe) -> Result<bool, String> {
    let ids = model.vocab.values().max().map_or(0, |&id| id as usize + 1);
    if ids > MOST_IDS {
        return Err(format!("the vocabulary reaches id {}, the limit is {MOST_IDS}", ids - 1));
    }
    let mut strings = vec![None; ids];
    for (token, &id) in &model.vocab {
        if strings[id as usize].replace(token.as_str()).is_some() {
            return Ok(false);
        }
    }

    let slots = (ids * 3 / 2).next_power_of_two().max(2);
    let mut hash = vec![0u32; slots];
    for (id, token) in (0u32..).zip(&strings) {
        let Some(token) = token else { continue };
        let mut slot = fnv1a(token.as_bytes()) as usize & (slots - 1);
        while hash[slot] != 0 {
            slot = (slot + 1) & (slots - 1);
        }
        hash[slot] = id + 1;
    }

    let merges: Vec<(String, String)> = match model.merges.get().trim_start().get(1..).map(str::trim_start) {
        Some(rest) if rest.starts_with('"') => {
            let lines: Vec<String> = parse("merges", model.merges.get())?;
            let lines = lines.iter().filter(|line| !line.starts_with("#version"));
            let pair = |line: &String| match line.split_once(' ') {
                Some((left, right)) if !right.contains(' ') => Ok((left.to_owned(), right.to_owned())),
                _ => Err(format!("a merge is not a pair: {line:?}")),
            };
            lines.map(pair).collect::<Result<_, _>>()?
        }
        _ => parse("merges", model.merges.get())?,
    };
    let id = |token: &str| {
        model
            .vocab
            .get(token)
            .copied()
            .ok_or_else(|| format!("a merge names {token:?}, which is not in the vocabulary"))
    };
    let prefix = model.continuing_subword_prefix.as_deref().unwrap_or("");
    let mut entries = Vec::with_capacity(merges.len());
    for (rank, (left, right)) in merges.iter().enumerate() {
        let tail =
            right.get(prefix.len()..).ok_or_else(|| format!("a merge's right side {right:?} lacks the prefix"))?;
        entries.push((id(left)?, id(right)?, rank as u32, id(&format!("{left}{tail}"))?));
    }
    // If a pair is listed twice, the later rank applies, as in a map that is filled in order.
    entries.sort_by_key(|&(left, right, rank, _)| (left, right, std::cmp::Reverse(rank)));
    entries.dedup_by_key(|&mut (left, right, ..)| (left, right));
    let mut starts = vec![0u32; ids + 1];
    for &(left, ..) in &entries {
        starts[left as usize + 1] += 1;
    }
    for i in 0..ids {
        starts[i + 1] += starts[i];
    }

    segment.set_words(HASH, hash);
    segment.set_words(MERGE_OFFSETS, starts);
    segment.set_words(MERGES, entries.iter().flat_map(|&(_, right, rank, merged)| [right, rank, merged]));
    segment.vocab = model.vocab.len() as u32;
    segment.unk = match &model.unk_token {
        None => NO_ID,
        Some(token) => model.vocab.get(token).copied().unwrap_or(BAD_UNK),
    };
    for (flag, on) in [
        (FLAG_BYTE_FALLBACK, model.byte_fallback),
        (FLAG_FUSE_UNK, model.fuse_unk),
        (FLAG_IGNORE_MERGES, model.ignore_merges),
    ] {
        segment.flags |= flag * u32::from(on == Some(true));
    }
    Ok(true)
}

/// `raw` are the strings of the vocabulary, and `forms` are the strings that the decoder receives.
fn set_strings(segment: &mut Segment, raw: &[String], forms: &[String], rule: &DecodeRule) -> Result<(), String> {
    let strings: Vec<Vec<u8>> = raw.iter().map(|s| s.clone().into_bytes()).collect();
    segment.set_items(STRING_OFFSETS, STRINGS, &strings)?;
    let bytes: Vec<Vec<u8>> = forms.iter().map(|s| rule.bytes(s)).collect();
    segment.set_items(BYTE_OFFSETS, BYTES, &bytes)?;
    segment.sections[SPECIAL] = vec![0; raw.len().div_ceil(8)];
    segment.ids = raw.len() as u32;
    Ok(())
}

pub struct Compiled {
    pub segment: Vec<u8>,
    /// The model is BPE and stored in tables.
    pub flat: bool,
    /// The named tokens: {"names": {"eos_token": "</s>", …}, "prefix": [1], "suffix": []}
    pub special: String,
}

/// Compiles a tokenizer. With `library_model`, BPE keeps the library's own representation, with which tests compare
/// the tables.
pub fn compile(files: &Files, library_model: bool) -> Result<Compiled, String> {
    let text = std::str::from_utf8(files.tokenizer).map_err(|e| e.to_string())?;
    let file: File = parse("tokenizer.json", text)?;
    let own: Vec<AddedToken> =
        file.added_tokens.iter().map(|raw| parse("added_tokens", raw.get())).collect::<Result<_, _>>()?;
    let named = token_files::read(files, &own)?;
    let step = |raw: Option<&RawValue>| -> Result<String, String> {
        let mut step: serde_json::Value = parse_optional("tokenizer.json", raw)?.unwrap_or_default();
        if let Some(space) = named.prefix_space {
            token_files::set_prefix_space(&mut step, space);
        }
        Ok(step.to_string())
    };
    let decoder = file.decoder.map(|raw| step(Some(raw))).transpose()?;
    let rule = DecodeRule::parse(decoder.as_deref())?;
    let mut description = Description {
        normalizer: parse("normalizer", &step(file.normalizer)?)?,
        pre_tokenizer: parse("pre_tokenizer", &step(file.pre_tokenizer)?)?,
        added: vec![],
        later: vec![],
        prefix: String::new(),
        suffix: String::new(),
        model: None,
    };
    description.added = own.iter().map(pack_added).collect();
    description.later = named.later.iter().map(pack_added).collect();

    let mut segment = Segment { unk: NO_ID, ..Default::default() };
    let mut vocab: HashMap<String, u32> = HashMap::new();
    let kind: Kind = parse("model", file.model.get())?;
    // Files from before model.type was introduced are BPE if they have merges.
    let bpe = kind.kind.as_deref() == Some("BPE") || (kind.kind.is_none() && file.model.get().contains("\"merges\""));
    if bpe && !library_model {
        let mut model: Bpe = parse("model", file.model.get())?;
        if model.dropout.is_some_and(|p| p != 0.0) {
            return Err("the model has BPE dropout, which makes ids random".into());
        }
        if set_bpe(&mut segment, &model)? {
            description.prefix = model.continuing_subword_prefix.take().unwrap_or_default();
            description.suffix = model.end_of_word_suffix.take().unwrap_or_default();
            vocab = std::mem::take(&mut model.vocab);
        }
    }
    let flat = !segment.sections[MERGE_OFFSETS].is_empty();
    if !flat {
        let model: tokenizers::ModelWrapper = parse("model", file.model.get())?;
        vocab.extend(tokenizers::Model::get_vocab(&model));
        description.model = Some(model);
    }
    segment.flags |= FLAG_DROP_SPACE * u32::from(rule.drops_space());
    segment.sections[JSON] = serde_json::to_vec(&description).map_err(|e| e.to_string())?;

    let ids = vocab.values().max().map_or(0, |&id| id as usize + 1);
    if ids > MOST_IDS {
        return Err(format!("the vocabulary reaches id {}, the limit is {MOST_IDS}", ids - 1));
    }
    let mut strings = vec![String::new(); ids];
    for (token, id) in vocab {
        strings[id as usize] = token;
    }
    set_strings(&mut segment, &strings, &strings, &rule)?;

    // The library assigns the ids of added tokens, so open a draft of the segment and query it.
    let draft = segment.finish();
    let added = with_opened(&draft, |backend| {
        let form = |id| backend.decoder_form(id).unwrap_or_default();
        Ok(backend.added().into_iter().map(|(id, token)| (id, form(id), token)).collect::<Vec<_>>())
    })?;
    let reach = added.iter().map(|(id, ..)| *id as usize + 1).max().unwrap_or(0);
    if reach > MOST_IDS {
        return Err(format!("added tokens reach id {}, the limit is {MOST_IDS}", reach - 1));
    }
    strings.resize(strings.len().max(reach), String::new());
    let mut forms = strings.clone();
    for (id, form, token) in &added {
        forms[*id as usize].clone_from(form);
        // The string table also serves the model's look-ups, so entries of the vocabulary keep their strings.
        if *id >= segment.ids {
            strings[*id as usize].clone_from(&token.content);
        }
    }
    set_strings(&mut segment, &strings, &forms, &rule)?;
    for (id, _, token) in &added {
        if token.special {
            segment.sections[SPECIAL][*id as usize / 8] |= 1 << (id % 8);
        }
    }
    if flat {
        // The tables have one more offset than ids.
        let words = segment.sections[MERGE_OFFSETS].clone();
        let last = words[words.len() - 4..].to_vec();
        while segment.sections[MERGE_OFFSETS].len() < 4 * (segment.ids as usize + 1) {
            segment.sections[MERGE_OFFSETS].extend(&last);
        }
    }
    let bytes = segment.finish();
    let processor = file.post_processor.unwrap_or_default();
    let affixes = with_opened(&bytes, |backend| Ok(Affixes::of(&processor, &|token| backend.id_of(token))))?;
    let names: serde_json::Map<_, _> = named.names.into_iter().map(|(name, token)| (name, token.into())).collect();
    let special = serde_json::json!({"names": names, "prefix": affixes.prefix, "suffix": affixes.suffix});
    Ok(Compiled { segment: bytes, flat, special: special.to_string() })
}

/// Opens a segment for one call. Its bytes live only as long as the call.
fn with_opened<T>(bytes: &[u8], use_it: impl FnOnce(&Backend) -> Result<T, String>) -> Result<T, String> {
    // SAFETY: the tokenizer is dropped before `bytes` is, and `use_it` cannot keep it.
    let view: &'static [u8] = unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
    let tokenizer = Tokenizer::open(view)?;
    use_it(&tokenizer.backend)
}
