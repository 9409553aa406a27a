//! The bytes that one token decodes to, independently of its neighbours.
//!
//! HF decoders work on a list of token strings. All decoders that language models use can be
//! expressed per token, plus one bit: whether the first text loses a leading space. The bytes of each
//! token are therefore computed once, at compile time, and streaming needs no decoder.

use serde::Deserialize;
use std::collections::HashMap;

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Decoder {
    ByteLevel {},
    ByteFallback {},
    Fuse {},
    Metaspace {
        #[serde(default = "metaspace")]
        replacement: char,
        #[serde(default)]
        prepend_scheme: Option<String>,
        #[serde(default)]
        add_prefix_space: Option<bool>,
    },
    Replace {
        pattern: Pattern,
        content: String,
    },
    Sequence {
        decoders: Vec<Decoder>,
    },
    Strip {
        content: char,
        start: usize,
        stop: usize,
    },
    WordPiece {
        prefix: String,
        cleanup: bool,
    },
    #[serde(untagged)]
    Other {
        #[serde(rename = "type")]
        kind: String,
    },
}

fn metaspace() -> char {
    '▁'
}

#[derive(Deserialize)]
enum Pattern {
    String(String),
    Regex(String),
}

enum Step {
    Replace(String, String),
    Bytes(HashMap<char, u8>),
    ByteFallback,
    /// A token with the prefix continues a word; any other token starts a new word with a space.
    Word {
        prefix: String,
        cleanup: bool,
    },
}

#[derive(Default)]
pub struct DecodeRule {
    steps: Vec<Step>,
    drops_space: bool,
    fused: bool,
}

/// Returns the characters that represent bytes in byte-level vocabularies (GPT-2's table).
pub fn byte_of_char() -> HashMap<char, u8> {
    let printable = |b: u32| matches!(b, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    let mut shifted = 0x100u32..;
    (0..256u32)
        .map(|b| (if printable(b) { b } else { shifted.next().unwrap() }, b as u8))
        .map(|(c, b)| (char::from_u32(c).unwrap(), b))
        .collect()
}

impl DecodeRule {
    pub fn parse(json: Option<&str>) -> Result<DecodeRule, String> {
        let mut rule = DecodeRule::default();
        match json {
            Some(json) => {
                let decoder = serde_json::from_str(json).map_err(|e| format!("decoder: {e}"))?;
                rule.add(decoder)?;
            }
            // Without a decoder, tokens are joined by spaces.
            None => rule.add(Decoder::WordPiece { prefix: String::new(), cleanup: false })?,
        }
        Ok(rule)
    }

    pub fn drops_space(&self) -> bool {
        self.drops_space
    }

    fn add(&mut self, decoder: Decoder) -> Result<(), String> {
        match decoder {
            Decoder::ByteLevel {} => self.steps.push(Step::Bytes(byte_of_char())),
            Decoder::ByteFallback {} => self.steps.push(Step::ByteFallback),
            Decoder::Fuse {} => self.fused = true,
            Decoder::Metaspace { replacement, prepend_scheme, add_prefix_space } => {
                self.steps.push(Step::Replace(replacement.to_string(), " ".into()));
                self.drops_space = prepend_scheme.as_deref().map_or(add_prefix_space != Some(false), |s| s != "never");
            }
            Decoder::Replace { pattern: Pattern::String(pattern), content } => {
                self.steps.push(Step::Replace(pattern, content));
            }
            Decoder::Replace { pattern: Pattern::Regex(pattern), .. } => {
                return Err(format!("decoder Replace with the regular expression {pattern:?} is not supported"));
            }
            Decoder::Sequence { decoders } => {
                for decoder in decoders {
                    self.add(decoder)?;
                }
            }
            Decoder::Strip { content: ' ', start: 1, stop: 0 } if self.fused => self.drops_space = true,
            Decoder::Strip { start: 0, stop: 0, .. } => {}
            Decoder::Strip { content, start, stop } => {
                return Err(format!("decoder Strip of {content:?} ({start}, {stop}) is not supported"));
            }
            Decoder::WordPiece { prefix, cleanup } => {
                self.steps.push(Step::Word { prefix, cleanup });
                self.drops_space = true;
            }
            Decoder::Other { kind } => return Err(format!("decoder {kind:?} is not supported")),
        }
        Ok(())
    }

    pub fn bytes(&self, token: &str) -> Vec<u8> {
        if token.is_empty() {
            return vec![]; // the id has no token
        }
        let mut text = token.to_owned();
        for step in &self.steps {
            match step {
                Step::Replace(from, to) if !from.is_empty() => text = text.replace(from.as_str(), to),
                Step::Replace(..) => {}
                Step::Bytes(table) => {
                    let bytes: Option<Vec<u8>> = text.chars().map(|c| table.get(&c).copied()).collect();
                    return bytes.unwrap_or_else(|| text.into_bytes());
                }
                Step::ByteFallback => {
                    if let Some(byte) = fallback_byte(&text) {
                        return vec![byte];
                    }
                }
                Step::Word { prefix, cleanup } => {
                    text = match text.strip_prefix(prefix.as_str()) {
                        Some(rest) if !prefix.is_empty() => rest.to_owned(),
                        _ => format!(" {text}"),
                    };
                    if *cleanup {
                        text = clean_up(&text);
                    }
                }
            }
        }
        text.into_bytes()
    }
}

fn fallback_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    (digits.len() == 2).then(|| u8::from_str_radix(digits, 16).ok())?
}

/// Does the cleanup of the WordPiece decoder: removes spaces before punctuation and English clitics.
fn clean_up(text: &str) -> String {
    [
        (" .", "."),
        (" ?", "?"),
        (" !", "!"),
        (" ,", ","),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" do not", " don't"),
        (" 's", "'s"),
        (" 've", "'ve"),
        (" 're", "'re"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
