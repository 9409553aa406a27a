//! What the files of a tokenizer say of its special tokens (compile time).
//!
//! tokenizer.json has a list of added tokens, and so may three files beside it: tokenizer_config.json,
//! special_tokens_map.json and added_tokens.json. They disagree often. Here they are read in the order of
//! transformers 5 (`PreTrainedTokenizerBase._from_pretrained`, `TokenizersBackend.__init__`):
//!
//! 1. tokenizer.json's own list;
//! 2. `added_tokens_decoder` of tokenizer_config.json, by index: a token that is new, or has other flags. Where
//!    there is none, special_tokens_map.json overrules what tokenizer_config.json names, and added_tokens.json
//!    is read, which knows no flags;
//! 3. tokens with a name (`eos_token`, `image_token`, …), then `extra_special_tokens`, if nobody had them yet.
//!
//! The index says the order alone: a token that the model lacks gets the next free id, there as here.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tokenizers::AddedToken;

/// The contents of files; "": there is no such file.
#[derive(Default)]
pub struct Files<'a> {
    pub tokenizer: &'a [u8],
    pub config: &'a [u8],
    pub special_map: &'a [u8],
    pub added: &'a [u8],
}

/// Names that every tokenizer has, in the order in which their tokens are added.
const NAMES: [&str; 7] = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// Tokens to add behind tokenizer.json's own, and what is called how ("eos_token", "</s>").
#[derive(Default)]
pub struct Named {
    pub later: Vec<AddedToken>,
    pub names: Vec<(String, String)>,
    /// Whether a byte-level text begins with a space, where the configuration decides: class GPT2Tokenizer.
    pub prefix_space: Option<bool>,
}

/// A token as these files write it: a string, or an object with flags of which each may be left out.
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

/// `special`: where the object does not say. None: this is no token.
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

/// Tokens that are special though nobody has a name for them. Of the two keys the newer one counts, if it says any.
fn extra(config: &Map<String, Value>) -> Option<&Value> {
    let said = |key: &str| {
        config.get(key).filter(|value| match value {
            Value::Array(list) => !list.is_empty(),
            Value::Object(map) => !map.is_empty(),
            _ => false,
        })
    };
    said("extra_special_tokens").or_else(|| said("additional_special_tokens"))
}

/// Tokens with names, in order.
fn named(config: &Map<String, Value>) -> Vec<(String, AddedToken)> {
    let mut found: Vec<(String, AddedToken)> = Vec::new();
    let mut put = |name: &str, value: &Value| {
        if let Some(token) = token(value, true) {
            if !found.iter().any(|(known, _)| known == name) {
                found.push((name.to_owned(), token));
            }
        }
    };
    for name in NAMES {
        config.get(name).into_iter().for_each(|value| put(name, value));
    }
    for (key, value) in config.iter().filter(|(key, _)| key.ends_with("_token")) {
        put(key, value);
    }
    for place in ["extra_special_tokens", "model_specific_special_tokens"] {
        for (key, value) in config.get(place).and_then(Value::as_object).into_iter().flatten() {
            put(key, value);
        }
    }
    found
}

/// special_tokens_map.json over tokenizer_config.json; lists of further tokens are joined.
fn overrule(config: &mut Map<String, Value>, map: Map<String, Value>) {
    for (key, value) in map {
        match (config.get_mut(&key), value) {
            (Some(Value::Array(known)), Value::Array(more)) if key == "extra_special_tokens" => {
                known.extend(more);
            }
            (_, value) => {
                config.insert(key, value);
            }
        }
    }
}

/// Errors: a file that is no JSON object. `own`: tokenizer.json's list.
pub fn read(files: &Files, own: &[AddedToken]) -> Result<Named, String> {
    let mut config = object("tokenizer_config.json", files.config)?;
    let mut by_index: BTreeMap<i64, AddedToken> = BTreeMap::new();
    let decoder = config.get("added_tokens_decoder").and_then(Value::as_object).cloned();
    if let Some(decoder) = &decoder {
        let tokens = decoder.iter().filter_map(|(index, value)| Some((index.parse().ok()?, token(value, false)?)));
        by_index.extend(tokens);
    } else {
        overrule(&mut config, object("special_tokens_map.json", files.special_map)?);
    }
    let mut names = named(&config);
    let further: Vec<AddedToken> =
        extra(&config).and_then(Value::as_array).into_iter().flatten().filter_map(|value| token(value, true)).collect();
    if decoder.is_none() {
        for (content, index) in object("added_tokens.json", files.added)? {
            let special = names.iter().map(|(_, token)| token).chain(&further).any(|token| token.content == content);
            let known = own.iter().find(|token| token.content == content).cloned();
            let token = known.unwrap_or_else(|| AddedToken::from(content, special));
            by_index.insert(index.as_i64().unwrap_or(i64::MAX), token);
        }
    }

    let mut later: Vec<AddedToken> = by_index.values().filter(|token| !own.contains(token)).cloned().collect();
    for (_, token) in &mut names {
        if let Some(known) = by_index.values().find(|known| known.content == token.content) {
            *token = known.clone();
        }
    }
    for token in names.iter().map(|(_, token)| token).chain(&further) {
        let known = |list: &[AddedToken]| list.iter().any(|known| known.content == token.content);
        if !known(own) && !known(&later) {
            later.push(token.clone());
        }
    }
    for token in &mut later {
        token.special |= names.iter().any(|(_, named)| named.content == token.content);
    }
    let gpt2 = config.get("tokenizer_class").and_then(Value::as_str).is_some_and(|c| c.starts_with("GPT2Tokenizer"));
    let prefix_space = gpt2.then(|| config.get("add_prefix_space") == Some(&Value::Bool(true)));
    Ok(Named { prefix_space, later, names: names.into_iter().map(|(name, token)| (name, token.content)).collect() })
}

/// Ids that a post-processor puts before and behind a text.
#[derive(Default, Debug, PartialEq)]
pub struct Affixes {
    pub prefix: Vec<u32>,
    pub suffix: Vec<u32>,
}

impl Affixes {
    /// `processor`: tokenizer.json's; `id_of`: where it names a token and no id.
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
