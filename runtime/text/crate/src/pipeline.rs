//! A tokenizer as it runs: HF's normaliser, pre-tokenizer and added tokens around a model.

use crate::bounds::Bounds;
use crate::flat_bpe::{FlatBpe, Tables, FLAG_DROP_SPACE};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use tokenizers::{
    AddedToken, DecoderWrapper, ModelWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper,
    TokenizerImpl,
};

/// The JSON section of a segment. The model is there only if it is not BPE.
#[derive(Serialize, Deserialize)]
pub struct Description {
    pub normalizer: Option<NormalizerWrapper>,
    pub pre_tokenizer: Option<PreTokenizerWrapper>,
    /// content and a sum of ADDED_*, in the order in which they are added
    pub added: Vec<(String, u8)>,
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

fn build<M: tokenizers::Model>(model: M, d: &Description) -> Result<Pipeline<M>, String> {
    let mut pipeline = Pipeline::new(model);
    pipeline.with_normalizer(d.normalizer.clone()).map_err(|e| e.to_string())?;
    pipeline.with_pre_tokenizer(d.pre_tokenizer.clone());
    pipeline.add_tokens(d.added.iter().map(unpack_added)).map_err(|e| e.to_string())?;
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
    fn open(tables: Tables) -> Result<Backend, String> {
        let description: Description = serde_json::from_slice(tables.json()).map_err(|e| e.to_string())?;
        if tables.has_bpe() {
            let model = FlatBpe::new(tables, description.prefix.clone(), description.suffix.clone());
            return Ok(Backend::Flat(Box::new(build(model, &description)?)));
        }
        let mut description = description;
        let model = description.model.take().ok_or("there is no model")?;
        Ok(Backend::Library(Box::new(build(model, &description)?)))
    }

    pub fn added(&self) -> Vec<(u32, AddedToken)> {
        let mut added: Vec<_> = each!(self, p => p.get_added_tokens_decoder().into_iter().collect());
        added.sort_by_key(|(id, _)| *id);
        added
    }

    /// The form in which an added token reaches the decoder.
    pub fn decoder_form(&self, id: u32) -> Option<String> {
        each!(self, p => p.id_to_token(id))
    }
}

pub struct Tokenizer {
    pub tables: Tables,
    pub backend: Backend,
    /// The same with special strings read as plain text; made when first asked for.
    plain: OnceLock<Result<Backend, String>>,
    /// Made when a text is first encoded up to a number of ids.
    bounds: OnceLock<Bounds>,
}

/// Pieces of a text that is encoded up to a number of ids: some milliseconds each.
const PIECE: usize = 16 << 10;

impl Tokenizer {
    pub fn open(data: &'static [u8]) -> Result<Tokenizer, String> {
        let tables = Tables::open(data)?;
        Ok(Tokenizer { tables, backend: Backend::open(tables)?, plain: OnceLock::new(), bounds: OnceLock::new() })
    }

    /// The ids, if there are `most` or fewer. Whether there are shows early (bounds.rs).
    pub fn encode_within(&self, text: &str, parse_special: bool, most: usize) -> Result<Option<Vec<u32>>, String> {
        let bounds = match self.bounds.get() {
            Some(bounds) => bounds,
            None => {
                let description: Description = serde_json::from_slice(self.tables.json()).map_err(|e| e.to_string())?;
                self.bounds.get_or_init(|| Bounds::new(&self.tables, &description, &self.backend.added()))
            }
        };
        if bounds.least(text) > most {
            return Ok(None);
        }
        let mut ids = Vec::new();
        for piece in bounds.pieces(text, PIECE) {
            ids.extend(self.encode(piece, parse_special)?);
            if ids.len() > most {
                return Ok(None);
            }
        }
        Ok(Some(ids))
    }

    pub fn encode(&self, text: &str, parse_special: bool) -> Result<Vec<u32>, String> {
        let backend = if parse_special {
            &self.backend
        } else {
            let plain = self.plain.get_or_init(|| {
                let mut backend = Backend::open(self.tables)?;
                each!(&mut backend, p => p.set_encode_special_tokens(true));
                Ok(backend)
            });
            plain.as_ref().map_err(Clone::clone)?
        };
        let encoding = each!(backend, p => p.encode_fast(text, false)).map_err(|e| e.to_string())?;
        Ok(encoding.get_ids().to_vec())
    }

    pub fn id_of(&self, token: &str) -> Option<u32> {
        each!(&self.backend, p => p.token_to_id(token))
    }

    pub fn drops_space(&self) -> bool {
        self.tables.has(FLAG_DROP_SPACE)
    }
}
