//! Constraints determine the tokens that may come next if the whole answer is to match a grammar.
//!
//! llguidance does the work. It walks a trie of the vocabulary with an Earley parser on top of a
//! derivative-based lexer. This file builds the vocabulary, translates each kind of source into the
//! library's input, and limits the cost of untrusted sources.

use crate::job::{self, Stopped};
use crate::pipeline::Tokenizer;
use crate::{gbnf, nesting, schema};
use llguidance::api::{GrammarWithLexer, ParserLimits, TopLevelGrammar};
use llguidance::toktrie::{
    ApproximateTokEnv, InferenceCapabilities, SimpleVob, TokEnv, TokRxInfo, TokTrie, INVALID_TOKEN,
};
use llguidance::{Matcher, ParserFactory, TokenParser};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub const SOURCE_LIMIT: usize = 64 << 10;
/// The time limit of a compilation. With its overhead, a compilation stays within the documented 2 s.
const COMPILE_TIME: Duration = Duration::from_millis(1500);
const COMPILE_MEMORY: usize = 256 << 20;
/// The largest number of lexer states, which take one or two kB each. (The library's own limit is 250,000.)
const LEXER_STATES: usize = 24_000;

/// Patterns of texts inside JSON strings. Their masks are computed in advance. The library has four slices of its own.
/// A mask costs the same with them, but a vocabulary of 262,144 tokens then takes 50 % longer to build.
const SLICES: [&str; 2] = [r#"[^"\\\x00-\x1F\x7F]{1,10}"#, r#"[^"\\\x00-\x1F\x7F]+"#];

pub enum Failure {
    /// The source is not a grammar of that kind.
    Source(String),
    TooLarge(String),
    /// A mask exceeded its work limit, or a token was not allowed.
    Refused(String),
    Panic(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    JsonObject,
    JsonSchema,
    Regex,
    Lark,
    Gbnf,
    Choice,
}

impl Kind {
    pub fn from_abi(kind: u8) -> Option<Kind> {
        use Kind::*;
        [JsonObject, JsonSchema, Regex, Lark, Gbnf, Choice].get(kind as usize).copied()
    }
}

pub struct Vocabulary {
    factory: ParserFactory,
    eos: Vec<u32>,
    ids: usize,
}

impl Vocabulary {
    /// Builds a vocabulary. `ids` is the number of logits. Ids that the tokenizer does not have are never allowed.
    pub fn new(tokenizer: &Tokenizer, ids: u32, eos: &[u32]) -> Result<Vocabulary, String> {
        let eos: Vec<u32> = eos.iter().copied().filter(|&id| id < ids).collect();
        let mut texts = 0usize;
        let words: Vec<Vec<u8>> = (0..ids)
            .map(|id| {
                let bytes = if id < tokenizer.tables.ids { tokenizer.tables.bytes(id) } else { b"" };
                if tokenizer.tables.is_special(id) || eos.contains(&id) {
                    // Use the library's marker for tokens that no text can spell.
                    let name = if bytes.is_empty() { format!("<[{id}]>").into_bytes() } else { bytes.to_vec() };
                    [&[TokTrie::SPECIAL_TOKEN_MARKER], &name[..]].concat()
                } else if bytes.contains(&TokTrie::SPECIAL_TOKEN_MARKER) {
                    Vec::new() // the marker's byte never occurs in UTF-8
                } else {
                    texts += usize::from(!bytes.is_empty());
                    bytes.to_vec()
                }
            })
            .collect();
        if texts == 0 {
            return Err(format!("none of the {ids} ids has text"));
        }
        let info = TokRxInfo::new(ids, eos.first().copied().unwrap_or(INVALID_TOKEN));
        let mut trie = TokTrie::from(&info, &words);
        drop(words);
        if eos.len() > 1 {
            trie = trie.with_eos_tokens(&eos);
        }
        // The environment is not "canonical", because the model may tokenise forced text in any way.
        let env: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let slices = SLICES.map(str::to_owned);
        let mut factory =
            ParserFactory::new(&env, InferenceCapabilities::default(), &slices).map_err(|e| e.to_string())?;
        factory.quiet();
        let limits: &mut ParserLimits = factory.limits_mut();
        limits.max_lexer_states = LEXER_STATES;
        limits.verbose_errors = false;
        Ok(Vocabulary { factory, eos, ids: ids as usize })
    }
}

pub struct Grammar {
    vocabulary: Arc<Vocabulary>,
    /// A parser that consumes no tokens. New lexers are copied from it.
    pristine: TokenParser,
    /// A parser. All sequences share its lexer, so a sequence uses the lexer states that earlier ones have computed.
    warm: Mutex<TokenParser>,
}

/// Returns the library's message on one line, without its excerpt of the source.
pub fn one_line(text: &str) -> String {
    let text = text.split("\n<").next().unwrap_or_default().trim_end();
    // regex-syntax prints the pattern, a caret under the position, and "error: …".
    if let Some((before, what)) = text.rsplit_once("\nerror: ") {
        let caret = before.lines().last().and_then(|line| line.find('^'));
        let place = caret.map_or(String::new(), |at| format!(" at character {}", at.saturating_sub(4) + 1));
        return format!("{}{place}", what.replace('\n', " "));
    }
    // In Lark, the first line is the whole message, and the others show the source.
    text.lines().next().unwrap_or_default().to_owned()
}

fn told(error: &impl std::fmt::Display) -> Failure {
    let text = one_line(&error.to_string());
    let costs = ["too large", "too big", "too complex", "too many", "fuel", "limit", "TooComplex"];
    match text.strip_prefix("panic: ") {
        Some(what) => Failure::Panic(what.to_owned()),
        None if costs.iter().any(|cost| text.contains(cost)) => Failure::TooLarge(text),
        None if text == "NoExtensionBias" => Failure::Source("no answer can match it".into()),
        None => Failure::Source(text),
    }
}

fn lark(source: String) -> TopLevelGrammar {
    TopLevelGrammar::from_lark(source)
}

/// Returns the text as a Lark string, which is a JSON string with DEL escaped.
pub fn lark_string(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn choice(source: &str) -> Result<TopLevelGrammar, Failure> {
    let choices: Vec<String> = serde_json::from_str(source)
        .map_err(|e| Failure::Source(format!("the choices are not a JSON array of strings: {e}")))?;
    if choices.is_empty() {
        return Err(Failure::Source("the list of choices is empty".into()));
    }
    let rules: Vec<String> = choices.iter().filter(|c| !c.is_empty()).map(|c| lark_string(c)).collect();
    let empty = if rules.len() < choices.len() { "\n | \"\"" } else { "" };
    if rules.is_empty() {
        return Ok(lark("start: \"\"".into()));
    }
    Ok(lark(format!("start: CHOICE{empty}\nCHOICE: {}", rules.join("\n | "))))
}

/// Removes `^` and `$` around the whole regex. They are redundant, because a regex must match the whole answer.
fn regex(source: &str) -> Result<TopLevelGrammar, Failure> {
    let inner = source.strip_prefix('^').unwrap_or(source);
    let inner = match inner.strip_suffix('$') {
        Some(rest) if (rest.len() - rest.trim_end_matches('\\').len()) % 2 == 0 => rest,
        _ => inner,
    };
    if inner.is_empty() {
        return Err(Failure::Source("the regex is empty".into()));
    }
    if let Err(error) = llguidance::derivre::RegexBuilder::new().mk_regex(inner) {
        return Err(Failure::Source(one_line(&error.to_string())));
    }
    // Make it a group, so that the library's operators around it apply to all of it.
    Ok(TopLevelGrammar::from_grammar(GrammarWithLexer::from_regex(&format!("(?:{inner})"))))
}

fn read(kind: Kind, source: &str) -> Result<TopLevelGrammar, Failure> {
    match kind {
        Kind::JsonObject => Ok(TopLevelGrammar::from_json_schema(schema::object())),
        Kind::JsonSchema => schema::read(source).map(TopLevelGrammar::from_json_schema).map_err(Failure::Source),
        Kind::Regex => regex(source),
        Kind::Lark => schema::in_lark(source).map(lark).map_err(Failure::Source),
        Kind::Gbnf => gbnf::to_lark(source).map(lark).map_err(Failure::Source),
        Kind::Choice => choice(source),
    }
}

/// Runs `work` on an untrusted source, within the limits of a compilation.
fn within_limits<T>(kind: Kind, source: &str, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    if source.len() > SOURCE_LIMIT {
        let size = source.len();
        return Err(Failure::TooLarge(format!("{size} bytes of source, the limit is {SOURCE_LIMIT}")));
    }
    nesting::check(kind, source).map_err(Failure::TooLarge)?;
    match job::run(COMPILE_MEMORY, COMPILE_TIME, work) {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(Failure::Panic(crate::panic_text())),
        Err(Stopped::Time) => {
            Err(Failure::TooLarge(format!("it takes more than {} ms to compile", COMPILE_TIME.as_millis())))
        }
        Err(Stopped::Memory) => {
            Err(Failure::TooLarge(format!("it takes more than {} MiB to compile", COMPILE_MEMORY >> 20)))
        }
        Err(Stopped::NoStack) => Err(Failure::TooLarge("no memory for a stack".into())),
    }
}

/// Checks a schema. Errors include their location in the schema.
pub fn check_schema(source: &str, close_objects: bool) -> Result<(), Failure> {
    within_limits(Kind::JsonSchema, source, || schema::check(source, close_objects).map_err(Failure::Source))
}

pub fn close_objects(source: &str) -> Result<String, Failure> {
    within_limits(Kind::JsonSchema, source, || schema::closed(source).map_err(Failure::Source))
}

impl Grammar {
    pub fn compile(vocabulary: &Arc<Vocabulary>, kind: Kind, source: &str) -> Result<Grammar, Failure> {
        let (pristine, warm) = within_limits(kind, source, || {
            let grammar = read(kind, source)?;
            let mut parser = vocabulary.factory.create_parser(grammar).map_err(|e| told(&e))?;
            parser.start_without_prompt();
            // The first mask shows whether any answer matches, and its states serve all sequences.
            let mut warm = parser.deep_clone();
            warm.compute_mask().map_err(|e| told(&e))?;
            Ok((parser, Mutex::new(warm)))
        })?;
        Ok(Grammar { vocabulary: Arc::clone(vocabulary), pristine, warm })
    }

    pub fn start(self: &Arc<Grammar>) -> Constraint {
        let mut warm = self.warm.lock().unwrap_or_else(PoisonError::into_inner);
        // Sequences fill the shared lexer. If it is half full or has panicked, replace it. Its users keep the old one.
        let usable = catch_unwind(AssertUnwindSafe(|| {
            let stats = warm.parser.lexer_stats();
            !stats.error && stats.num_states < LEXER_STATES / 2
        }));
        if !usable.unwrap_or(false) {
            *warm = self.pristine.deep_clone();
        }
        let matcher = Matcher::new(Ok(warm.clone()));
        Constraint { grammar: Arc::clone(self), matcher, mask: Vec::new() }
    }
}

#[derive(Clone)]
pub struct Constraint {
    grammar: Arc<Grammar>,
    matcher: Matcher,
    mask: Vec<u32>,
}

impl Constraint {
    fn refused(error: &impl std::fmt::Display) -> Failure {
        match told(error) {
            Failure::Panic(what) => Failure::Panic(what),
            Failure::Source(what) | Failure::TooLarge(what) | Failure::Refused(what) => Failure::Refused(what),
        }
    }

    /// Returns a bit mask of the allowed ids: bit i % 32 of word i / 32 is id i. Valid until the next call.
    pub fn allowed(&mut self) -> Result<&[u32], Failure> {
        let set: SimpleVob = self.matcher.compute_mask_or_eos().map_err(|e| Self::refused(&e))?;
        let ids = self.grammar.vocabulary.ids;
        self.mask.clear();
        self.mask.extend_from_slice(set.as_slice());
        self.mask.resize(ids.div_ceil(32), 0);
        if let (Some(last), rest @ 1..) = (self.mask.last_mut(), ids % 32) {
            *last &= (1 << rest) - 1;
        }
        Ok(&self.mask)
    }

    pub fn accept(&mut self, id: u32) -> Result<(), Failure> {
        // Once only the end may follow, the library accepts no more tokens, not even an end token.
        if self.complete() && self.grammar.vocabulary.eos.contains(&id) {
            return Ok(());
        }
        self.matcher.consume_token(id).map_err(|e| Self::refused(&e))
    }

    pub fn complete(&self) -> bool {
        !self.matcher.is_error() && self.matcher.is_stopped()
    }
}
