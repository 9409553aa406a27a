//! Converts older tokenizer files into a tokenizer.json (compile time).
//!
//! The result is the same as the result of transformers 5.24 for these files, with the same token ids:
//!
//! ```text
//!   tokenizer.model   SentencePiece (sentence_piece.rs), or a tiktoken table: a line "BASE64 RANK" for each token
//!   vocab.json        with merges.txt: byte-level BPE, with the splitting of the tokenizer's class
//!   tekken.json       Mistral's: ranks as in tiktoken, the regex for splitting, and control tokens before all others
//! ```
//!
//! A class also defines the names of its special tokens. tokenizer_config.json overrides them, and determines the
//! tokens around a text (`add_bos_token`), since these files have no post-processor.

use crate::decoding::byte_of_char;
use crate::sentence_piece;
use serde_json::{json, Map, Value};
use std::collections::HashMap;

/// The contents of files. They are empty if a file does not exist. `model_type` is the value in config.json.
pub struct Sources<'a> {
    pub config: &'a [u8],
    pub model_type: &'a str,
    pub model: &'a [u8],
    pub vocab: &'a [u8],
    pub merges: &'a [u8],
    pub tekken: &'a [u8],
}

/// The replacement for tokenizer.json and tokenizer_config.json.
pub struct Converted {
    pub tokenizer: Value,
    pub config: Map<String, Value>,
    pub source: &'static str,
}

/// The largest number of control tokens that may be added to the control tokens of a file.
const MOST_SPECIALS: usize = 1 << 20;

const LLAMA3_WORDS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2_WORDS: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Sets the names that the class defines, unless the configuration defines them.
pub fn defaults(config: &mut Map<String, Value>, names: &[(&str, &str)]) {
    for (name, token) in names {
        config.entry(*name).or_insert_with(|| json!(token));
    }
}

/// Returns the post-processor that `add_bos_token` and `add_eos_token` require.
pub fn post_processor(config: &Map<String, Value>) -> Value {
    let asked = |flag: &str, name: &str| {
        let token = config.get(name)?;
        let text = token.as_str().or_else(|| token["content"].as_str())?;
        (config.get(flag)? == true).then(|| json!({"SpecialToken": {"id": text, "type_id": 0}}))
    };
    let text = json!({"Sequence": {"id": "A", "type_id": 0}});
    let pieces: Vec<Value> = asked("add_bos_token", "bos_token")
        .into_iter()
        .chain([text])
        .chain(asked("add_eos_token", "eos_token"))
        .collect();
    json!({"type": "TemplateProcessing", "single": pieces, "pair": [], "special_tokens": {}})
}

/// Returns the class of a tokenizer without "Fast"; empty if the configuration names no class.
pub fn class_of(config: &Map<String, Value>) -> &str {
    let class = config.get("tokenizer_class").and_then(Value::as_str).unwrap_or("");
    class.strip_suffix("Fast").unwrap_or(class)
}

fn byte_level(add_prefix_space: bool, use_regex: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true, "use_regex": use_regex})
}

/// Returns a pre-tokenizer that splits by a regex.
fn split_words(words: &str) -> Value {
    let split = json!({"type": "Split", "pattern": {"Regex": words}, "behavior": "Isolated", "invert": false});
    json!({"type": "Sequence", "pretokenizers": [split, byte_level(false, false)]})
}

fn byte_level_json(vocab: Value, merges: Value, normalizer: Value, cut: Value, whole_first: bool) -> Value {
    json!({
        "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": cut, "decoder": byte_level(true, true),
        "model": {"type": "BPE", "vocab": vocab, "merges": merges, "ignore_merges": whole_first},
    })
}

/// Returns the vocabulary, with ids starting at `first`, and the merges of byte-level tokens ordered by rank as in
/// tiktoken.
fn ranked(tokens: &[Vec<u8>], first: usize) -> (Map<String, Value>, Vec<Value>) {
    let mut letters = vec![String::new(); 256];
    for (letter, byte) in byte_of_char() {
        letters[byte as usize] = letter.to_string();
    }
    let spell = |bytes: &[u8]| bytes.iter().map(|&b| letters[b as usize].as_str()).collect::<String>();
    let ranks: HashMap<&[u8], usize> =
        tokens.iter().enumerate().map(|(rank, token)| (token.as_slice(), rank)).collect();
    let mut vocab = Map::new();
    let mut merges = Vec::new();
    for (rank, token) in tokens.iter().enumerate() {
        vocab.insert(spell(token), json!(rank + first));
        let mut ways: Vec<(usize, usize, usize)> = (1..token.len())
            .filter_map(|cut| Some((*ranks.get(&token[..cut])?, *ranks.get(&token[cut..])?, cut)))
            .collect();
        ways.sort_unstable();
        merges.extend(ways.iter().map(|&(.., cut)| json!([spell(&token[..cut]), spell(&token[cut..])])));
    }
    (vocab, merges)
}

/// Parses a line for each token: its bytes in base64, and its rank, which increases by one.
fn tiktoken_tokens(model: &[u8]) -> Option<Vec<Vec<u8>>> {
    let text = std::str::from_utf8(model).ok()?;
    let mut tokens = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (token, rank) = line.split_once(' ')?;
        if rank.parse() != Ok(tokens.len()) {
            return None;
        }
        tokens.push(base64::decode(token).ok()?);
    }
    (!tokens.is_empty()).then_some(tokens)
}

/// Converts a tiktoken table. Only Llama 3 is supported, because the file has neither the regex for splitting nor the
/// tokens that follow the table.
fn from_tiktoken(tokens: &[Vec<u8>], sources: &Sources, config: Map<String, Value>) -> Result<Converted, String> {
    if sources.model_type != "llama" {
        return Err(format!(
            "it is a tiktoken table of {} tokens, which does not specify its pre-tokenizer: only that of Llama 3 is known",
            tokens.len()
        ));
    }
    let decoder = config.get("added_tokens_decoder").and_then(Value::as_object);
    let named: HashMap<usize, &str> = decoder
        .into_iter()
        .flatten()
        .filter_map(|(index, token)| Some((index.parse().ok()?, token["content"].as_str()?)))
        .collect();
    let Some(&last) = named.keys().max() else {
        return Err("tokenizer_config.json does not list the control tokens that follow those of the file".into());
    };
    if last >= tokens.len() + MOST_SPECIALS {
        return Err(format!("tokenizer_config.json lists token {last}, but the file has {}", tokens.len()));
    }
    let (vocab, merges) = ranked(tokens, 0);
    let mut tokenizer = byte_level_json(vocab.into(), merges.into(), Value::Null, split_words(LLAMA3_WORDS), true);
    let token = |id: usize| {
        let content = named.get(&id).map_or_else(|| format!("<|reserved_token_{id}|>"), |name| name.to_string());
        json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false, "special": true})
    };
    tokenizer["added_tokens"] = (tokens.len()..=last).map(token).collect();
    tokenizer["post_processor"] = post_processor(&config);
    Ok(Converted { tokenizer, config, source: "tokenizer.model (tiktoken)" })
}

/// The special tokens of files older than version 3, which do not list them.
const TEKKEN_SPECIALS: [&str; 20] = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

fn from_tekken(sources: &Sources, mut config: Map<String, Value>) -> Result<Converted, String> {
    let file: Value = serde_json::from_slice(sources.tekken).map_err(|e| format!("tekken.json: {e}"))?;
    let number = |key: &str| file["config"][key].as_u64().map(|n| n as usize);
    let words = file["config"]["pattern"].as_str().ok_or("tekken.json has no pattern")?;
    let specials = number("default_num_special_tokens").unwrap_or(1000);
    if specials > MOST_SPECIALS {
        return Err(format!("tekken.json has {specials} control tokens, at most {MOST_SPECIALS} are supported"));
    }
    let listed = file["vocab"].as_array().ok_or("tekken.json has no vocab")?;
    let used = number("default_vocab_size").map_or(listed.len(), |all| all.saturating_sub(specials).min(listed.len()));
    let bytes = |token: &Value| token["token_bytes"].as_str().and_then(|text| base64::decode(text).ok());
    let tokens: Option<Vec<Vec<u8>>> = listed[..used].iter().map(bytes).collect();
    let tokens = tokens.ok_or("tekken.json has a token that is not base64")?;

    let mut names: Vec<String> = (0..specials).map(|rank| format!("<SPECIAL_{rank}>")).collect();
    match file["special_tokens"].as_array() {
        Some(list) => {
            for token in list {
                let place = token["rank"].as_u64().and_then(|rank| names.get_mut(rank as usize));
                if let (Some(place), Some(name)) = (place, token["token_str"].as_str()) {
                    *place = name.to_owned();
                }
            }
        }
        None => names.iter_mut().zip(TEKKEN_SPECIALS).for_each(|(place, name)| *place = name.to_owned()),
    }
    let (mut vocab, merges) = ranked(&tokens, specials);
    vocab.extend(names.iter().enumerate().map(|(rank, name)| (name.clone(), json!(rank))));
    let mut tokenizer = byte_level_json(vocab.into(), merges.into(), Value::Null, split_words(words), true);
    let token = |(id, content): (usize, &String)| {
        json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false, "special": true})
    };
    tokenizer["added_tokens"] = names.iter().enumerate().map(token).collect();
    defaults(
        &mut config,
        &[("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")],
    );
    config.entry("add_bos_token").or_insert(json!(true));
    tokenizer["post_processor"] = post_processor(&config);
    Ok(Converted { tokenizer, config, source: "tekken.json" })
}

/// The classes for vocab.json with merges.txt, and the model types that use each of them if no class is named.
const BYTE_LEVEL: [(&str, &[&str]); 3] = [
    ("GPT2Tokenizer", &["gpt2", "phi", "starcoder2", "codegen"]),
    (
        "Qwen2Tokenizer",
        &["qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe"],
    ),
    ("GPTNeoXTokenizer", &["gpt_neox", "olmo", "olmoe"]),
];

fn merge_pairs(text: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(text).map_err(|e| format!("merges.txt: {e}"))?;
    let lines = text.lines().filter(|line| !line.starts_with("#version") && !line.is_empty());
    let pair = |line: &str| match line.split_once(' ') {
        Some((left, right)) if !right.contains(' ') => Ok(json!([left, right])),
        _ => Err(format!("merges.txt: {line:?} is not a pair")),
    };
    lines.map(pair).collect()
}

fn from_vocab(sources: &Sources, mut config: Map<String, Value>) -> Result<Converted, String> {
    let named = match class_of(&config) {
        _ if sources.model_type == "qwen2" => "Qwen2Tokenizer", // whatever the configuration says
        "CodeGenTokenizer" => "GPT2Tokenizer",
        named => named,
    };
    let known = BYTE_LEVEL.iter().find(|(class, models)| {
        *class == named || (!BYTE_LEVEL.iter().any(|(c, _)| *c == named) && models.contains(&sources.model_type))
    });
    let Some((class, _)) = known else {
        return Err(format!(
            "vocab.json and merges.txt do not specify how to split text, and the tokenizer's class ('{named}', of a model of \
             type '{}') is none of GPT2Tokenizer, Qwen2Tokenizer, GPTNeoXTokenizer",
            sources.model_type
        ));
    };
    let vocab: Value = serde_json::from_slice(sources.vocab).map_err(|e| format!("vocab.json: {e}"))?;
    let merges = merge_pairs(sources.merges)?;
    let space = config.get("add_prefix_space") == Some(&json!(true));
    let nfc = json!({"type": "NFC"});
    const END: &str = "<|endoftext|>";
    let mut tokenizer = match *class {
        "Qwen2Tokenizer" => {
            defaults(&mut config, &[("eos_token", END), ("unk_token", END), ("pad_token", END)]);
            let mut cut = split_words(QWEN2_WORDS);
            cut["pretokenizers"][1] = byte_level(space, false);
            byte_level_json(vocab, merges, nfc, cut, false)
        }
        class => {
            defaults(&mut config, &[("bos_token", END), ("eos_token", END), ("unk_token", END)]);
            let neox = class == "GPTNeoXTokenizer";
            if neox {
                defaults(&mut config, &[("pad_token", "<|padding|>")]);
            }
            byte_level_json(vocab, merges, if neox { nfc } else { Value::Null }, byte_level(space, true), false)
        }
    };
    tokenizer["post_processor"] = post_processor(&config);
    Ok(Converted { tokenizer, config, source: "vocab.json, merges.txt" })
}

/// Converts files. Fails with the reason if they cannot be converted.
pub fn convert(sources: &Sources) -> Result<Converted, String> {
    let config: Map<String, Value> = match sources.config {
        [] => Map::new(),
        text => serde_json::from_slice(text).map_err(|e| format!("tokenizer_config.json: {e}"))?,
    };
    if !sources.tekken.is_empty() {
        return from_tekken(sources, config);
    }
    if !sources.model.is_empty() {
        return match tiktoken_tokens(sources.model) {
            Some(tokens) => from_tiktoken(&tokens, sources, config),
            None => sentence_piece::convert(sources, config),
        };
    }
    if sources.vocab.is_empty() || sources.merges.is_empty() {
        let (there, missing) =
            if sources.vocab.is_empty() { ("merges.txt", "vocab.json") } else { ("vocab.json", "merges.txt") };
        return Err(format!("{there} exists, but {missing} is missing"));
    }
    from_vocab(sources, config)
}
