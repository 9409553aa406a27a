//! A tokenizer at run time: HF's normaliser, pre-tokenizer and added tokens around a model.

use crate::bounds::Bounds;
use crate::flat_bpe::{FlatBpe, Tables, FLAG_DROP_SPACE};
use crate::guard::{is_tag, Specials, PREFIX};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;
use tokenizers::{
    AddedToken, DecoderWrapper, Model, ModelWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper,
    TokenizerImpl,
};

/// The JSON section of a segment. It includes the model only if the model is not BPE in tables.
#[derive(Serialize, Deserialize)]
pub struct Description {
    pub normalizer: Option<NormalizerWrapper>,
    pub pre_tokenizer: Option<PreTokenizerWrapper>,
    /// The content and a sum of ADDED_* for each token, in the order in which the tokens are added.
    pub added: Vec<(String, u8)>,
    /// Tokens in the same form that are added after the ids of `added` are assigned (token_files.rs).
    #[serde(default)]
    pub later: Vec<(String, u8)>,
    #[serde(default)]
    pub prefix: String,
    #[serde(default)]
    pub suffix: String,
    #[serde(default)]
    pub model: Option<ModelWrapper>,
}

const ADDED_SINGLE_WORD: u8 = 1;
const ADDED_LSTRIP: u8 = 2;
const ADDED_RSTRIP: u8 = 4;
const ADDED_NORMALIZED: u8 = 8;
const ADDED_SPECIAL: u8 = 16;

pub fn pack_added(token: &AddedToken) -> (String, u8) {
    let flags = u8::from(token.single_word) * ADDED_SINGLE_WORD
        + u8::from(token.lstrip) * ADDED_LSTRIP
        + u8::from(token.rstrip) * ADDED_RSTRIP
        + u8::from(token.normalized) * ADDED_NORMALIZED
        + u8::from(token.special) * ADDED_SPECIAL;
    (token.content.clone(), flags)
}

fn unpack_added((content, flags): &(String, u8)) -> AddedToken {
    AddedToken::from(content.as_str(), flags & ADDED_SPECIAL != 0)
        .single_word(flags & ADDED_SINGLE_WORD != 0)
        .lstrip(flags & ADDED_LSTRIP != 0)
        .rstrip(flags & ADDED_RSTRIP != 0)
        .normalized(flags & ADDED_NORMALIZED != 0)
}

type Pipeline<M> = TokenizerImpl<M, NormalizerWrapper, PreTokenizerWrapper, PostProcessorWrapper, DecoderWrapper>;

/// Returns whether guard.rs handles this token.
fn is_guarded(token: &AddedToken) -> bool {
    token.special || is_tag(&token.content)
}

/// Does the same as build(), but guarded tokens have the prefix. The other tokens are added first, so that their ids
/// are not reused.
fn build_guarded<M: tokenizers::Model>(model: M, d: &Description) -> Result<Pipeline<M>, String> {
    let mut pipeline = Pipeline::new(model);
    pipeline.with_normalizer(d.normalizer.clone()).map_err(|e| e.to_string())?;
    pipeline.with_pre_tokenizer(d.pre_tokenizer.clone());
    let all = d.added.iter().chain(&d.later).map(unpack_added);
    let (guarded, others): (Vec<AddedToken>, Vec<AddedToken>) = all.partition(is_guarded);
    pipeline.add_tokens(others).map_err(|e| e.to_string())?;
    let prefixed = guarded.into_iter().map(|mut token| {
        token.content.insert(0, PREFIX);
        token
    });
    pipeline.add_tokens(prefixed).map_err(|e| e.to_string())?;
    Ok(pipeline)
}

fn build<M: tokenizers::Model>(model: M, d: &Description) -> Result<Pipeline<M>, String> {
    let mut pipeline = Pipeline::new(model);
    pipeline.with_normalizer(d.normalizer.clone()).map_err(|e| e.to_string())?;
    pipeline.with_pre_tokenizer(d.pre_tokenizer.clone());
    for tokens in [&d.added, &d.later] {
        pipeline.add_tokens(tokens.iter().map(unpack_added)).map_err(|e| e.to_string())?;
    }
    Ok(pipeline)
}

pub enum Backend {
    Flat(Box<Pipeline<FlatBpe>>),
    Library(Box<Pipeline<ModelWrapper>>),
}

macro_rules! each {
    ($backend:expr, $pipeline:ident => $body:expr) => {
        match $backend {
            Backend::Flat($pipeline) => $body,
            Backend::Library($pipeline) => $body,
        }
    };
}

impl Backend {
    fn open(tables: Tables, guarded: bool) -> Result<Backend, String> {
        let description: Description = serde_json::from_slice(tables.json()).map_err(|e| e.to_string())?;
        if tables.has_bpe() {
            let model = FlatBpe::new(tables, description.prefix.clone(), description.suffix.clone());
            let pipeline = if guarded { build_guarded(model, &description) } else { build(model, &description) };
            return Ok(Backend::Flat(Box::new(pipeline?)));
        }
        let mut description = description;
        let model = description.model.take().ok_or("there is no model")?;
        let pipeline = if guarded { build_guarded(model, &description) } else { build(model, &description) };
        Ok(Backend::Library(Box::new(pipeline?)))
    }

    pub fn added(&self) -> Vec<(u32, AddedToken)> {
        let mut added: Vec<_> = each!(self, p => p.get_added_tokens_decoder().into_iter().collect());
        added.sort_by_key(|(id, _)| *id);
        added
    }

    pub fn id_of(&self, token: &str) -> Option<u32> {
        each!(self, p => p.token_to_id(token))
    }

    /// Returns the form in which an added token reaches the decoder.
    pub fn decoder_form(&self, id: u32) -> Option<String> {
        each!(self, p => p.id_to_token(id))
    }
}

/// A tokenizer that recognises control tokens only with the prefix of guard.rs.
pub struct Guarded {
    backend: Backend,
    /// Maps an id in `backend` to its spelling in `backend` and the id of the actual tokenizer.
    ids: HashMap<u32, (String, u32)>,
    /// Control tokens and tags, by their ids in the actual tokenizer.
    specials: HashMap<u32, String>,
}

impl Guarded {
    fn open(tables: Tables, own: &Backend) -> Result<Guarded, String> {
        let backend = Backend::open(tables, true)?;
        let (mut ids, mut specials) = (HashMap::new(), HashMap::new());
        for (id, token) in own.added() {
            if is_guarded(&token) {
                specials.insert(id, token.content.clone());
            }
            let spelled = if is_guarded(&token) { format!("{PREFIX}{}", token.content) } else { token.content };
            if let Some(here) = each!(&backend, p => p.token_to_id(&spelled)) {
                ids.insert(here, (spelled, id));
            }
        }
        Ok(Guarded { backend, ids, specials })
    }

    pub fn encode(&self, text: &str) -> Result<Vec<u32>, String> {
        // encode_fast cannot be used, because it does not return the spelling of an id.
        let encoding = each!(&self.backend, p => p.encode(text, false)).map_err(|e| e.to_string())?;
        let mut found = Vec::with_capacity(encoding.len());
        let spans = encoding.get_offsets().iter().map(|&(from, to)| text.get(from..to).unwrap_or(""));
        for ((id, token), span) in encoding.get_ids().iter().zip(encoding.get_tokens()).zip(spans) {
            match self.ids.get(id) {
                // An added token may have spaces around it. If the model has an id with the same number, its
                // spelling differs.
                Some((spelled, real)) if token.contains(spelled.as_str()) => found.push(*real),
                _ => match self.specials.get(id) {
                    Some(spelled) if span.contains(spelled.as_str()) => self.letters(spelled, &mut found)?,
                    _ => found.push(*id), // includes the unknown token
                },
            }
        }
        Ok(found)
    }

    /// Encodes a control token letter by letter, if the model itself has it as a word. (Unigram matches whole pieces.)
    fn letters(&self, spelled: &str, found: &mut Vec<u32>) -> Result<(), String> {
        for letter in spelled.chars() {
            let pieces = each!(&self.backend, p => p.get_model().tokenize(&letter.to_string()));
            let pieces = pieces.map_err(|e| e.to_string())?;
            found.extend(pieces.iter().map(|piece| piece.id).filter(|id| !self.specials.contains_key(id)));
        }
        Ok(())
    }
}

pub struct Tokenizer {
    pub tables: Tables,
    pub backend: Backend,
    /// Like `backend`, but special strings are plain text. It is created on first use.
    plain: OnceLock<Result<Backend, String>>,
    /// Created when a text is first encoded with a limit on its ids.
    bounds: OnceLock<Bounds>,
    guarded: OnceLock<Result<Guarded, String>>,
    specials: OnceLock<Specials>,
    tags: OnceLock<Specials>,
    /// A number that is unique among the tokenizers of this process.
    pub serial: u64,
}

/// The size of the pieces of a text that is encoded with a limit on its ids. Each piece takes some milliseconds.
const PIECE: usize = 16 << 10;

impl Tokenizer {
    pub fn open(data: &'static [u8]) -> Result<Tokenizer, String> {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let tables = Tables::open(data)?;
        Ok(Tokenizer {
            tables,
            backend: Backend::open(tables, false)?,
            plain: OnceLock::new(),
            guarded: OnceLock::new(),
            specials: OnceLock::new(),
            tags: OnceLock::new(),
            serial: OPENED.fetch_add(1, Ordering::Relaxed),
            bounds: OnceLock::new(),
        })
    }

    fn bounds(&self) -> Result<&Bounds, String> {
        if let Some(bounds) = self.bounds.get() {
            return Ok(bounds);
        }
        let description: Description = serde_json::from_slice(self.tables.json()).map_err(|e| e.to_string())?;
        Ok(self.bounds.get_or_init(|| Bounds::new(&self.tables, &description, &self.backend.added())))
    }

    /// Encodes piece by piece. Returns None as soon as there are more than `most` ids.
    fn gather(
        &self,
        text: &str,
        most: usize,
        encode: impl Fn(&str) -> Result<Vec<u32>, String>,
    ) -> Result<Option<Vec<u32>>, String> {
        let mut ids = Vec::new();
        for piece in self.bounds()?.pieces(text, PIECE) {
            ids.extend(encode(piece)?);
            if ids.len() > most {
                return Ok(None);
            }
        }
        Ok(Some(ids))
    }

    /// Returns the ids, or None if there are more than `most`, which is detected early (bounds.rs).
    pub fn encode_within(&self, text: &str, parse_special: bool, most: usize) -> Result<Option<Vec<u32>>, String> {
        if self.bounds()?.exceeds(text, most) {
            return Ok(None);
        }
        self.gather(text, most, |piece| self.encode(piece, parse_special))
    }

    /// Encodes a conversation within `most` ids. It is given twice: as plain text (`shown`), and with marked control
    /// tokens (guard.rs).
    pub fn encode_guarded_within(&self, shown: &str, marked: &str, most: usize) -> Result<Option<Vec<u32>>, String> {
        if self.bounds()?.exceeds(shown, most) {
            return Ok(None);
        }
        self.gather(marked, most, |piece| self.encode_guarded(piece))
    }

    pub fn encode(&self, text: &str, parse_special: bool) -> Result<Vec<u32>, String> {
        let backend = if parse_special {
            &self.backend
        } else {
            let plain = self.plain.get_or_init(|| {
                let mut backend = Backend::open(self.tables, false)?;
                each!(&mut backend, p => p.set_encode_special_tokens(true));
                Ok(backend)
            });
            plain.as_ref().map_err(Clone::clone)?
        };
        let encoding = each!(backend, p => p.encode_fast(text, false)).map_err(|e| e.to_string())?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Returns the control tokens, and the tags that are `wanted`.
    pub fn specials_with(&self, wanted: impl Fn(&str) -> bool) -> Specials {
        let counts = |t: &AddedToken| t.special || (is_tag(&t.content) && wanted(&t.content));
        Specials::new(self.backend.added().into_iter().filter(|(_, t)| counts(t)).map(|(_, t)| t.content))
    }

    pub fn specials(&self) -> &Specials {
        self.specials.get_or_init(|| self.specials_with(|_| false))
    }

    /// Returns the control tokens and all tags.
    pub fn tags(&self) -> &Specials {
        self.tags.get_or_init(|| self.specials_with(|_| true))
    }

    /// Returns the token ids of a text in which control tokens and tags are prefixed by guard::PREFIX.
    pub fn encode_guarded(&self, text: &str) -> Result<Vec<u32>, String> {
        let guarded = self.guarded.get_or_init(|| Guarded::open(self.tables, &self.backend));
        guarded.as_ref().map_err(Clone::clone)?.encode(text)
    }

    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.backend.id_of(token)
    }

    pub fn drops_space(&self) -> bool {
        self.tables.has(FLAG_DROP_SPACE)
    }
}
