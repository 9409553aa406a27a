//! Converts a SentencePiece model into a tokenizer.json (compile time).
//!
//! The file is a protocol buffer (sentencepiece_model.proto) with pieces and their scores, the type of the model, and
//! the normalisation of texts. transformers 5.24 reads it in three ways, which differ in small details:
//!
//! - The class GemmaTokenizer, which all Gemma models have, merges by ascending id and joins a space to the word before
//!   it.
//! - The class LlamaTokenizer merges by ascending id and adds a space before each piece of text that has none.
//! - All other classes follow the file: they merge by score, use the file's normaliser, and keep user-defined pieces
//!   whole.

use crate::vocabulary_files::{class_of, defaults, post_processor, Converted, Sources};
use serde_json::{json, Map, Value};
use std::collections::HashMap;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Normal,
    Control,
    UserDefined,
    Other,
}

struct Piece {
    text: String,
    score: f32,
    kind: Kind,
}

/// The fields that are read. They have the defaults of the proto file.
struct Model {
    pieces: Vec<Piece>,
    unigram: bool,
    byte_fallback: bool,
    unknown: u64,
    /// The ids and pieces of bos, eos and the unknown token.
    named: [(i64, String); 3],
    charsmap: Vec<u8>,
    dummy_prefix: bool,
    trim: bool,
    escape: bool,
}

enum Field<'a> {
    Number(u64),
    Bits(u32),
    Bytes(&'a [u8]),
}

/// Returns the fields of a message, in order.
fn fields(mut data: &[u8]) -> Option<Vec<(u64, Field<'_>)>> {
    fn varint(data: &mut &[u8]) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = data.split_first()?;
            *data = rest;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
    fn take<'a>(data: &mut &'a [u8], size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = (data.get(..size)?, data.get(size..)?);
        *data = rest;
        Some(taken)
    }
    let mut found = Vec::new();
    while !data.is_empty() {
        let key = varint(&mut data)?;
        let field = match key & 7 {
            0 => Field::Number(varint(&mut data)?),
            1 => Field::Bytes(take(&mut data, 8)?),
            2 => {
                let size = usize::try_from(varint(&mut data)?).ok()?;
                Field::Bytes(take(&mut data, size)?)
            }
            5 => Field::Bits(u32::from_le_bytes(take(&mut data, 4)?.try_into().ok()?)),
            _ => return None,
        };
        found.push((key >> 3, field));
    }
    Some(found)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn piece(data: &[u8]) -> Option<Piece> {
    let mut piece = Piece { text: String::new(), score: 0.0, kind: Kind::Normal };
    for field in fields(data)? {
        match field {
            (1, Field::Bytes(bytes)) => piece.text = text(bytes),
            (2, Field::Bits(bits)) => piece.score = f32::from_bits(bits),
            (3, Field::Number(kind)) => {
                piece.kind = match kind {
                    1 => Kind::Normal,
                    3 => Kind::Control,
                    4 => Kind::UserDefined,
                    _ => Kind::Other, // the types unknown, unused and byte
                }
            }
            _ => {}
        }
    }
    Some(piece)
}

fn read(data: &[u8]) -> Option<Model> {
    let mut model = Model {
        pieces: vec![],
        unigram: true,
        byte_fallback: false,
        unknown: 0,
        named: [(1, "<s>".into()), (2, "</s>".into()), (0, "<unk>".into())],
        charsmap: vec![],
        dummy_prefix: true,
        trim: true,
        escape: true,
    };
    for field in fields(data)? {
        match field {
            (1, Field::Bytes(bytes)) => model.pieces.push(piece(bytes)?),
            (2, Field::Bytes(trainer)) => {
                for field in fields(trainer)? {
                    match field {
                        (3, Field::Number(kind)) => model.unigram = kind == 1,
                        (35, Field::Number(on)) => model.byte_fallback = on != 0,
                        (40, Field::Number(id)) => (model.unknown, model.named[2].0) = (id, id as i64),
                        (41, Field::Number(id)) => model.named[0].0 = i64::from(id as i32),
                        (42, Field::Number(id)) => model.named[1].0 = i64::from(id as i32),
                        (45, Field::Bytes(piece)) => model.named[2].1 = text(piece),
                        (46, Field::Bytes(piece)) => model.named[0].1 = text(piece),
                        (47, Field::Bytes(piece)) => model.named[1].1 = text(piece),
                        _ => {}
                    }
                }
            }
            (3, Field::Bytes(normalizer)) => {
                for field in fields(normalizer)? {
                    match field {
                        (2, Field::Bytes(bytes)) => model.charsmap = bytes.to_vec(),
                        (3, Field::Number(on)) => model.dummy_prefix = on != 0,
                        (4, Field::Number(on)) => model.trim = on != 0,
                        (5, Field::Number(on)) => model.escape = on != 0,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    (!model.pieces.is_empty()).then_some(model)
}

fn replace(pattern: Value, content: &str) -> Value {
    json!({"type": "Replace", "pattern": pattern, "content": content})
}

fn decoder(byte_fallback: bool, drops_space: bool) -> Value {
    let mut steps = vec![replace(json!({"String": "▁"}), " ")];
    if byte_fallback {
        steps.push(json!({"type": "ByteFallback"}));
    }
    steps.push(json!({"type": "Fuse"}));
    if drops_space {
        steps.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    }
    json!({"type": "Sequence", "decoders": steps})
}

fn metaspace(scheme: &str) -> Value {
    json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": false})
}

/// Returns all ways to split a token into two, by ascending rank.
fn merges<R: PartialOrd + Copy>(ranks: &HashMap<&str, R>, key: impl Fn(&str, &str) -> (usize, usize)) -> Vec<Value> {
    let mut ways: Vec<(R, (usize, usize), &str, &str)> = Vec::new();
    for (&token, &rank) in ranks {
        for (cut, _) in token.char_indices().skip(1) {
            let (left, right) = token.split_at(cut);
            if ranks.contains_key(left) && ranks.contains_key(right) {
                ways.push((rank, key(left, right), left, right));
            }
        }
    }
    ways.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    ways.into_iter().map(|(.., left, right)| json!([left, right])).collect()
}

/// Builds the tokenizer of a class that orders merges by ascending id.
fn by_class(model: &Model, unknown: Value, cut: Value, normalizer: Value, drops_space: bool) -> Value {
    let ids: HashMap<&str, usize> =
        model.pieces.iter().enumerate().map(|(id, piece)| (piece.text.as_str(), id)).collect();
    let chars = |text: &str| text.chars().count();
    let merges = merges(&ids, |left, right| (chars(left), chars(right)));
    json!({
        "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": cut, "decoder": decoder(true, drops_space),
        "model": {"type": "BPE", "vocab": ids, "merges": merges, "unk_token": unknown, "fuse_unk": true,
                  "byte_fallback": true},
    })
}

/// Builds the tokenizer that the file describes. `names` are the names of pieces by id, some of which
/// tokenizer_config.json may have renamed.
fn by_file(model: &Model, names: &[String], legacy: bool) -> Value {
    let users: Vec<&str> =
        model.pieces.iter().zip(names).filter(|(p, _)| p.kind == Kind::UserDefined).map(|(_, n)| n.as_str()).collect();
    let core = if model.unigram {
        let vocab: Vec<Value> = model.pieces.iter().zip(names).map(|(p, name)| json!([name, p.score as f64])).collect();
        json!({"type": "Unigram", "vocab": vocab, "unk_id": model.unknown, "byte_fallback": model.byte_fallback})
    } else {
        let ids: HashMap<&str, usize> = names.iter().enumerate().map(|(id, name)| (name.as_str(), id)).collect();
        let normal = model.pieces.iter().zip(names).enumerate().filter(|(_, (p, _))| p.kind == Kind::Normal);
        let ranks: HashMap<&str, (f32, usize)> =
            normal.map(|(id, (p, name))| (name.as_str(), (-p.score, id))).collect();
        json!({"type": "BPE", "vocab": ids, "merges": merges(&ranks, |_, _| (0, 0)), "unk_token": model.named[2].1,
               "fuse_unk": true, "byte_fallback": model.byte_fallback, "ignore_merges": !users.is_empty()})
    };
    let mut steps = Vec::new();
    if !model.charsmap.is_empty() {
        steps.push(json!({"type": "Precompiled", "precompiled_charsmap": base64::encode(&model.charsmap)}));
    }
    if model.trim {
        steps.push(replace(json!({"Regex": r"\A +| +\z"}), ""));
        steps.push(replace(json!({"Regex": " {2,}"}), " "));
    }
    if model.escape {
        steps.push(replace(json!({"String": " "}), "▁"));
    }
    if model.dummy_prefix && legacy {
        steps.push(replace(json!({"Regex": r"\A▁"}), "▁▁")); // Metaspace adds no "▁" before an existing one
    }
    let mut cuts = Vec::new();
    if model.dummy_prefix {
        cuts.push(metaspace(if legacy { "always" } else { "first" }));
    }
    if !users.is_empty() {
        let mut sorted = users.clone();
        sorted.sort_by_key(|piece| std::cmp::Reverse(piece.chars().count()));
        let pattern = sorted.iter().map(|piece| regex_syntax_escape(piece)).collect::<Vec<_>>().join("|");
        cuts.push(json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false}));
    }
    json!({
        "added_tokens": [], "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": if cuts.is_empty() { Value::Null } else { json!({"type": "Sequence", "pretokenizers": cuts}) },
        "decoder": decoder(model.byte_fallback, model.dummy_prefix), "model": core,
    })
}

/// Returns a regex that matches exactly this piece.
fn regex_syntax_escape(piece: &str) -> String {
    let mut out = String::new();
    for c in piece.chars() {
        if c.is_ascii_punctuation() || c.is_ascii_whitespace() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Model types for which the `tokenizer_class` LlamaTokenizer is ignored. transformers has another class for them, or
/// their files are known to name the wrong class.
const AS_THE_FILE_SAYS: [&str; 18] = [
    "mistral",
    "mistral3",
    "ministral",
    "ministral3",
    "mixtral",
    "phi3",
    "nemotron",
    "ernie4_5",
    "ernie4_5_moe",
    "granite",
    "granitemoe",
    "granitemoeshared",
    "granitemoehybrid",
    "glm",
    "glm4",
    "glm4_moe",
    "stablelm",
    "minimax_m2",
];

fn token(piece: &Piece) -> Value {
    json!({"content": piece.text, "special": piece.kind == Kind::Control, "normalized": false})
}

/// Sets the extra special tokens of a class to the extra special tokens of the file, unless the configuration lists
/// some.
fn further(model: &Model, config: &mut Map<String, Value>, users: bool) {
    let wanted = |p: &&Piece| p.kind == Kind::Control || (users && p.kind == Kind::UserDefined);
    let listed: Vec<Value> = model.pieces.iter().filter(wanted).map(token).collect();
    let said = |key: &str| config.get(key).is_some_and(|v| v.as_array().is_some_and(|list| !list.is_empty()));
    if !said("extra_special_tokens") && !said("additional_special_tokens") {
        config.insert("extra_special_tokens".into(), listed.into());
    }
}

/// Returns the names of pieces. A token of the configuration with the id of a piece renames that piece.
fn names_of(model: &Model, config: &mut Map<String, Value>) -> Vec<String> {
    let mut names: Vec<String> = model.pieces.iter().map(|piece| piece.text.clone()).collect();
    let Some(decoder) = config.get_mut("added_tokens_decoder").and_then(Value::as_object_mut) else { return names };
    let given: HashMap<usize, String> = decoder
        .iter()
        .filter_map(|(id, token)| Some((id.parse().ok()?, token["content"].as_str()?.to_owned())))
        .collect();
    let kept: std::collections::HashSet<String> =
        names.iter().enumerate().filter(|(id, _)| !given.contains_key(id)).map(|(_, name)| name.clone()).collect();
    for (id, name) in &given {
        if let Some(place) = names.get_mut(*id).filter(|_| !kept.contains(name)) {
            *place = name.clone();
        }
    }
    if model.dummy_prefix {
        // These tokens are matched in the original text, so each piece between two of them gets its own space.
        decoder.values_mut().filter_map(Value::as_object_mut).for_each(|token| {
            token.insert("normalized".into(), json!(false));
        });
    }
    names
}

/// Converts a model. Fails with the reason if it cannot be converted.
pub fn convert(sources: &Sources, mut config: Map<String, Value>) -> Result<Converted, String> {
    let model =
        read(sources.model).ok_or("tokenizer.model is neither a SentencePiece model nor a table of tiktoken's")?;
    let flag = |config: &Map<String, Value>, name: &str| config.get(name).and_then(Value::as_bool);
    let class = class_of(&config).to_owned();
    let mut tokenizer = if sources.model_type.starts_with("gemma") {
        let names = [
            ("unk_token", "<unk>"),
            ("bos_token", "<bos>"),
            ("eos_token", "<eos>"),
            ("pad_token", "<pad>"),
            ("mask_token", "<mask>"),
        ];
        defaults(&mut config, &names);
        further(&model, &mut config, true);
        let space = json!({"String": " "});
        let cut = json!({"type": "Split", "pattern": space, "behavior": "MergedWithPrevious", "invert": false});
        by_class(&model, config["unk_token"].clone(), cut, replace(space, "▁"), false)
    } else if class == "LlamaTokenizer" && !AS_THE_FILE_SAYS.contains(&sources.model_type) {
        defaults(&mut config, &[("unk_token", "<unk>"), ("bos_token", "<s>"), ("eos_token", "</s>")]);
        further(&model, &mut config, true);
        let prefix = flag(&config, "add_prefix_space").unwrap_or(true);
        let legacy = flag(&config, "legacy").unwrap_or(false);
        let cut = metaspace(if !prefix {
            "never"
        } else if legacy {
            "always"
        } else {
            "first"
        });
        by_class(&model, Value::Null, cut, Value::Null, prefix)
    } else {
        let names = names_of(&model, &mut config);
        for (name, (id, piece)) in ["bos_token", "eos_token", "unk_token"].iter().zip(&model.named) {
            if *id >= 0 {
                defaults(&mut config, &[(name, piece)]);
            }
        }
        further(&model, &mut config, false);
        let legacy = flag(&config, "legacy").unwrap_or(true);
        by_file(&model, &names, legacy)
    };
    tokenizer["post_processor"] = post_processor(&config);
    Ok(Converted { tokenizer, config, source: "tokenizer.model" })
}
