//! Reads the special tokens from the files of a tokenizer (compile time).
//!
//! tokenizer.json has a list of added tokens, and so may three other files: tokenizer_config.json,
//! special_tokens_map.json and added_tokens.json. They often disagree. They are read in the order of
//! transformers 5 (`PreTrainedTokenizerBase._from_pretrained`, `TokenizersBackend.__init__`):
//!
//! 1. The list of tokenizer.json.
//! 2. The tokens of `added_tokens_decoder` in tokenizer_config.json that are new or have other flags, by index. If it
//!    is missing, special_tokens_map.json overrides the names of tokenizer_config.json, and added_tokens.json, which
//!    has no flags, is read.
//! 3. Named tokens (`eos_token`, `image_token`, …), then `extra_special_tokens`, unless they are already present.
//!
//! As in transformers, the index determines only the order. A token that the model lacks gets the next free id.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet};
use tokenizers::AddedToken;

/// The contents of files. They are empty if a file does not exist.
#[derive(Default)]
pub struct Files<'a> {
    pub tokenizer: &'a [u8],
    pub config: &'a [u8],
    pub special_map: &'a [u8],
    pub added: &'a [u8],
}

/// The names that every tokenizer has, in the order in which their tokens are added.
const NAMES: [&str; 7] = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// Tokens to add after the tokens of tokenizer.json, and the names of tokens ("eos_token", "</s>").
#[derive(Default)]
pub struct Named {
    pub later: Vec<AddedToken>,
    pub names: Vec<(String, String)>,
    /// Whether a text begins with a space; None if the configuration does not determine it.
    pub prefix_space: Option<bool>,
}

/// A token in these files: a string, or an object with optional flags.
#[derive(Deserialize)]
struct Flags {
    content: String,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    normalized: Option<bool>,
    special: Option<bool>,
}

/// Reads a token. `special` is the default of the flag `special`. Returns None if the value is not a token.
fn token(value: &Value, special: bool) -> Option<AddedToken> {
    if let Value::String(content) = value {
        return Some(AddedToken::from(content.as_str(), special));
    }
    let flags = Flags::deserialize(value).ok()?;
    let special = flags.special.unwrap_or(special);
    Some(
        AddedToken::from(flags.content, special)
            .single_word(flags.single_word)
            .lstrip(flags.lstrip)
            .rstrip(flags.rstrip)
            .normalized(flags.normalized.unwrap_or(!special)),
    )
}

fn object(what: &str, file: &[u8]) -> Result<Map<String, Value>, String> {
    if file.is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(file).map_err(|e| format!("{what}: {e}"))
}

const EXTRA: &str = "extra_special_tokens";

/// Settles the two keys for unnamed special tokens: the newer key applies if it lists any tokens. If the value is an
/// object, its tokens have names. The object is then removed and returned.
fn settle_extra(config: &mut Map<String, Value>) -> Map<String, Value> {
    let says_some = match config.get(EXTRA) {
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::Object(map)) => !map.is_empty(),
        _ => false,
    };
    if !says_some {
        if let Some(older) = config.shift_remove("additional_special_tokens") {
            config.insert(EXTRA.into(), older);
        }
    }
    match config.get(EXTRA) {
        Some(Value::Object(map)) => {
            let named = map.clone();
            config.shift_remove(EXTRA);
            named
        }
        _ => Map::new(),
    }
}

/// Returns the named tokens in order: tokens that every tokenizer has, then objects, strings, and `more`.
fn named(config: &Map<String, Value>, more: &Map<String, Value>) -> Vec<(String, AddedToken)> {
    let own = NAMES.iter().filter_map(|name| config.get_key_value(*name));
    let others = || config.iter().filter(|(key, _)| key.ends_with("_token"));
    let objects = others().filter(|(_, value)| value.is_object());
    let strings = others().filter(|(_, value)| value.is_string());
    let mut found: Vec<(String, AddedToken)> = Vec::new();
    for (name, value) in own.chain(objects).chain(strings).chain(more) {
        if let (Some(token), false) = (token(value, true), found.iter().any(|(known, _)| known == name)) {
            found.push((name.clone(), token));
        }
    }
    found
}

/// Overrides tokenizer_config.json by special_tokens_map.json. Lists of extra special tokens are joined.
fn overrule(config: &mut Map<String, Value>, map: Map<String, Value>) {
    for (key, value) in map {
        match (config.get_mut(&key), value) {
            (Some(Value::Array(known)), Value::Array(more)) if key == EXTRA => known.extend(more),
            (_, value) => {
                config.insert(key, value);
            }
        }
    }
}

/// Returns whether a text begins with a space, for the classes that transformers 5 rebuilds from the vocabulary of
/// tokenizer.json. They get a leading space if the configuration requests it. LlamaTokenizer is rebuilt, in every
/// version, only if the configuration requests no leading space.
fn prefix_space(config: &Map<String, Value>) -> Option<bool> {
    let class = config.get("tokenizer_class").and_then(Value::as_str)?;
    let asked = config.get("add_prefix_space").and_then(Value::as_bool);
    match class.strip_suffix("Fast").unwrap_or(class) {
        "GPT2Tokenizer" | "Qwen2Tokenizer" | "GPTNeoXTokenizer" => Some(asked == Some(true)),
        "LlamaTokenizer" => asked.filter(|space| !space),
        _ => None,
    }
}

/// Changes a normalizer, pre-tokenizer or decoder so that a text begins with or without a space.
pub fn set_prefix_space(step: &mut Value, space: bool) {
    let kind = step["type"].as_str().unwrap_or("").to_owned();
    match kind.as_str() {
        "ByteLevel" => step["add_prefix_space"] = space.into(),
        "Metaspace" if !space => {
            step["prepend_scheme"] = "never".into();
            step["add_prefix_space"] = false.into();
        }
        "Sequence" => {
            for list in ["normalizers", "pretokenizers", "decoders"] {
                let Some(steps) = step.get_mut(list).and_then(Value::as_array_mut) else { continue };
                steps.retain(|one| space || (one["type"] != "Prepend" && one["type"] != "Strip"));
                steps.iter_mut().for_each(|one| set_prefix_space(one, space));
            }
        }
        _ => {}
    }
}

/// Reads the files. Fails if a file is not a JSON object. `own` is the list of tokenizer.json.
pub fn read(files: &Files, own: &[AddedToken]) -> Result<Named, String> {
    let mut config = object("tokenizer_config.json", files.config)?;
    let mut more = settle_extra(&mut config);
    let mut by_index: BTreeMap<i64, AddedToken> = BTreeMap::new();
    let decoder = config.get("added_tokens_decoder").and_then(Value::as_object).cloned();
    if let Some(decoder) = &decoder {
        let tokens = decoder.iter().filter_map(|(index, value)| Some((index.parse().ok()?, token(value, false)?)));
        by_index.extend(tokens);
    } else {
        overrule(&mut config, object("special_tokens_map.json", files.special_map)?);
        if let Some(Value::Object(map)) = config.get(EXTRA) {
            more.extend(map.clone());
        }
    }
    let mut names = named(&config, &more);
    let extra = if config.contains_key(EXTRA) { EXTRA } else { "additional_special_tokens" };
    let listed = config.get(extra).and_then(Value::as_array);
    let further: Vec<AddedToken> = listed.into_iter().flatten().filter_map(|value| token(value, true)).collect();
    if decoder.is_none() {
        for (content, index) in object("added_tokens.json", files.added)? {
            let of_all = names.iter().filter(|(name, _)| NAMES.contains(&name.as_str())).map(|(_, token)| token);
            let listed = further.iter().filter(|_| extra == EXTRA);
            let special = of_all.chain(listed).any(|token| token.content == content);
            let known = own.iter().find(|token| token.content == content).cloned();
            let token = known.unwrap_or_else(|| AddedToken::from(content, special));
            by_index.insert(index.as_i64().unwrap_or(i64::MAX), token);
        }
    }

    let mut later: Vec<AddedToken> = by_index.values().filter(|token| !own.contains(token)).cloned().collect();
    for (_, token) in names.iter_mut().filter(|(name, _)| NAMES.contains(&name.as_str())) {
        if let Some(known) = by_index.values().find(|known| known.content == token.content) {
            *token = known.clone();
        }
    }
    let tables: HashSet<String> = own.iter().chain(&later).map(|token| token.content.clone()).collect();
    for token in names.iter().map(|(_, token)| token).chain(&further) {
        // A token that is named twice with different flags is added twice, so the later flags apply.
        if !tables.contains(&token.content) && !later.contains(token) {
            later.push(token.clone());
        }
    }
    for token in &mut later {
        token.special |= names.iter().any(|(_, named)| named.content == token.content);
    }
    let prefix_space = prefix_space(&config);
    Ok(Named { prefix_space, later, names: names.into_iter().map(|(name, token)| (name, token.content)).collect() })
}

/// The ids that a post-processor puts before and after a text.
#[derive(Default, Debug, PartialEq)]
pub struct Affixes {
    pub prefix: Vec<u32>,
    pub suffix: Vec<u32>,
}

impl Affixes {
    /// Reads the ids from `processor`, the post-processor of tokenizer.json. `id_of` is used for tokens that it names
    /// without an id.
    pub fn of(processor: &Value, id_of: &impl Fn(&str) -> Option<u32>) -> Affixes {
        let mut found = Affixes::default();
        match processor["type"].as_str() {
            Some("Sequence") => {
                for step in processor["processors"].as_array().into_iter().flatten() {
                    let outer = Affixes::of(step, id_of);
                    found.prefix.splice(0..0, outer.prefix);
                    found.suffix.extend(outer.suffix);
                }
            }
            Some("TemplateProcessing") => {
                let mut text_seen = false;
                for piece in processor["single"].as_array().into_iter().flatten() {
                    let Some(name) = piece["SpecialToken"]["id"].as_str() else {
                        text_seen |= piece.get("Sequence").is_some();
                        continue;
                    };
                    let stated = processor["special_tokens"][name]["ids"].as_array();
                    let ids: Vec<u32> = match stated {
                        Some(ids) => ids.iter().filter_map(Value::as_u64).map(|id| id as u32).collect(),
                        None => id_of(name).into_iter().collect(),
                    };
                    if text_seen { &mut found.suffix } else { &mut found.prefix }.extend(ids);
                }
            }
            Some("BertProcessing" | "RobertaProcessing") => {
                // Each is a pair of the token and its id.
                let id = |key: &str| processor[key][1].as_u64().map(|id| id as u32);
                found.prefix.extend(id("cls"));
                found.suffix.extend(id("sep"));
            }
            _ => {}
        }
        found
    }
}
