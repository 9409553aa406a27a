//! The C ABI of Ingot's text libraries (../../TextAbi.h is the C++ side).
//!
//! Rules of the boundary:
//!
//! - No function unwinds across it, since every call runs in `guarded`.
//! - Results are returned through sinks, so no memory changes its owner.
//! - Texts are passed as pointer and length.

mod bounds;
mod budget;
mod compile;
mod decoding;
mod flat_bpe;
mod gbnf;
mod grammar;
mod guard;
mod jinja;
mod job;
mod nesting;
mod pipeline;
mod python_json;
mod schema;
mod sentence_piece;
mod template;
mod token_files;
mod vocabulary_files;

use grammar::{Constraint, Grammar, Vocabulary};
use pipeline::Tokenizer;
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, Once};
use template::{Failure, Given, Template};
use token_files::Files;

/// Receives bytes. It is called any number of times before the function that it was passed to returns.
pub type Sink = extern "C" fn(context: *mut c_void, data: *const u8, size: usize);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Slice {
    data: *const u8,
    size: usize,
}

impl Slice {
    fn of(bytes: &[u8]) -> Slice {
        Slice { data: bytes.as_ptr(), size: bytes.len() }
    }

    /// SAFETY: TextAbi.h requires that the slice is readable for `'a`, and null only if it is empty.
    unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.size == 0 {
            return &[];
        }
        std::slice::from_raw_parts(self.data, self.size)
    }

    unsafe fn text<'a>(self) -> std::borrow::Cow<'a, str> {
        String::from_utf8_lossy(self.bytes())
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Output {
    context: *mut c_void,
    sink: Sink,
}

impl Output {
    fn put(self, bytes: &[u8]) {
        (self.sink)(self.context, bytes.as_ptr(), bytes.len());
    }
}

// The values of IngotTextStatus.
const OK: i32 = 0;
const DAMAGED: i32 = 1;
const FAILED: i32 = 2;
const SYNTAX: i32 = 3;
const TOO_LARGE: i32 = 4;
const LIMIT: i32 = 5;
const INPUT: i32 = 6;
const PANIC: i32 = 7;

/// Conversations of up to this many bytes are encoded whole, so that an error can report the number of ids.
const SHORT: usize = 64 << 10;

/// The location of the last panic: "minijinja-3.0.5/src/value/ops.rs:185".
static PANICKED_AT: Mutex<String> = Mutex::new(String::new());

/// Sets a panic hook that keeps the location for the error message. Panics are caught and reported as errors, so
/// the hook prints nothing.
fn keep_place_of_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // llguidance wraps the current hook once, with a hook that takes a backtrace. Let it do so, then set ours.
        let _ = llguidance::panic_utils::catch_unwind(|| Ok(()));
        std::panic::set_hook(Box::new(|info| {
            let place = info.location().map_or_else(String::new, |at| {
                let parts: Vec<&str> = at.file().split('/').collect();
                // Start at the crate's folder. The path before it is a path of the build machine.
                let source = parts.iter().rposition(|part| *part == "src").unwrap_or(0);
                format!("{}:{}", parts[source.saturating_sub(1)..].join("/"), at.line())
            });
            if let Ok(mut kept) = PANICKED_AT.lock() {
                *kept = place;
            }
        }));
    });
}

fn panic_text() -> String {
    let place = PANICKED_AT.lock().map_or_else(|_| String::new(), |kept| kept.clone());
    format!("a panic in the text library, at {place}")
}

fn guarded(error: Output, call: impl FnOnce() -> Result<(), (i32, String)>) -> i32 {
    keep_place_of_panics();
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => OK,
        Ok(Err((status, why))) => {
            error.put(why.as_bytes());
            status
        }
        Err(_) => {
            error.put(panic_text().as_bytes());
            PANIC
        }
    }
}

#[no_mangle]
pub extern "C" fn ingot_text_on_out_of_memory(report: extern "C" fn()) {
    budget::on_out_of_memory(report);
}

/// # Safety
/// `segment` stays readable until the tokenizer is closed; `out` is writable.
#[no_mangle]
pub unsafe extern "C" fn ingot_tokenizer_open(segment: Slice, out: *mut *mut Tokenizer, error: Output) -> i32 {
    guarded(error, || {
        let tokenizer = Tokenizer::open(segment.bytes()).map_err(|why| (DAMAGED, why))?;
        *out = Box::into_raw(Box::new(tokenizer));
        Ok(())
    })
}

/// # Safety
/// `tokenizer` is from ingot_tokenizer_open, and this is its last use.
#[no_mangle]
pub unsafe extern "C" fn ingot_tokenizer_close(tokenizer: *mut Tokenizer) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(tokenizer))));
}

/// # Safety
/// `tokenizer` is open, `text` readable.
#[no_mangle]
pub unsafe extern "C" fn ingot_tokenizer_encode(
    tokenizer: *const Tokenizer,
    text: Slice,
    parse_special: bool,
    most: usize,
    ids: Output,
    error: Output,
) -> i32 {
    guarded(error, || {
        let found = if most == usize::MAX {
            Some((*tokenizer).encode(&text.text(), parse_special).map_err(|why| (FAILED, why))?)
        } else {
            (*tokenizer).encode_within(&text.text(), parse_special, most).map_err(|why| (FAILED, why))?
        };
        let Some(found) = found else { return Err((TOO_LARGE, String::new())) };
        let bytes = std::slice::from_raw_parts(found.as_ptr().cast::<u8>(), 4 * found.len());
        ids.put(bytes);
        Ok(())
    })
}

/// # Safety
/// `tokenizer` is open.
#[no_mangle]
pub unsafe extern "C" fn ingot_tokenizer_token(tokenizer: *const Tokenizer, id: u32) -> Slice {
    Slice::of((*tokenizer).tables.bytes(id))
}

/// # Safety
/// `tokenizer` is open.
#[no_mangle]
pub unsafe extern "C" fn ingot_tokenizer_is_special(tokenizer: *const Tokenizer, id: u32) -> bool {
    (*tokenizer).tables.is_special(id)
}

/// # Safety
/// `tokenizer` is open.
#[no_mangle]
pub unsafe extern "C" fn ingot_tokenizer_size(tokenizer: *const Tokenizer) -> u32 {
    (*tokenizer).tables.ids
}

/// # Safety
/// `tokenizer` is open.
#[no_mangle]
pub unsafe extern "C" fn ingot_tokenizer_drops_space(tokenizer: *const Tokenizer) -> bool {
    (*tokenizer).drops_space()
}

/// # Safety
/// `tokenizer` is open, `token` is readable. Returns -1 if there is no such token.
#[no_mangle]
pub unsafe extern "C" fn ingot_tokenizer_id(tokenizer: *const Tokenizer, token: Slice) -> i64 {
    let find = || std::str::from_utf8(token.bytes()).ok().and_then(|token| (*tokenizer).id_of(token));
    catch_unwind(AssertUnwindSafe(find)).ok().flatten().map_or(-1, i64::from)
}

/// The texts of a tokenizer's files. A text is empty if its file does not exist.
#[repr(C)]
pub struct TokenizerFiles {
    tokenizer: Slice,
    config: Slice,
    special_map: Slice,
    added: Slice,
}

/// # Safety
/// The files are readable, `is_flat` writable.
#[no_mangle]
pub unsafe extern "C" fn ingot_tokenizer_compile(
    given: *const TokenizerFiles,
    library_model: bool,
    is_flat: *mut bool,
    segment: Output,
    special: Output,
    error: Output,
) -> i32 {
    guarded(error, || {
        let files = Files {
            tokenizer: (*given).tokenizer.bytes(),
            config: (*given).config.bytes(),
            special_map: (*given).special_map.bytes(),
            added: (*given).added.bytes(),
        };
        let compiled = compile::compile(&files, library_model).map_err(|why| (DAMAGED, why))?;
        *is_flat = compiled.flat;
        segment.put(&compiled.segment);
        special.put(compiled.special.as_bytes());
        Ok(())
    })
}

/// The files of a tokenizer without a tokenizer.json. A text is empty if its file does not exist. `model_type` is the
/// value in config.json.
#[repr(C)]
pub struct VocabularyFiles {
    config: Slice,
    model_type: Slice,
    model: Slice,
    vocab: Slice,
    merges: Slice,
    tekken: Slice,
}

/// # Safety
/// The files are readable.
#[no_mangle]
pub unsafe extern "C" fn ingot_tokenizer_convert(
    given: *const VocabularyFiles,
    tokenizer: Output,
    config: Output,
    source: Output,
    error: Output,
) -> i32 {
    guarded(error, || {
        let given = &*given;
        let sources = vocabulary_files::Sources {
            config: given.config.bytes(),
            model_type: &given.model_type.text(),
            model: given.model.bytes(),
            vocab: given.vocab.bytes(),
            merges: given.merges.bytes(),
            tekken: given.tekken.bytes(),
        };
        let mut converted = vocabulary_files::convert(&sources).map_err(|why| (FAILED, why))?;
        converted.config.shift_remove("tokenizer_class"); // the conversion has already used it
        tokenizer.put(converted.tokenizer.to_string().as_bytes());
        config.put(serde_json::Value::from(converted.config).to_string().as_bytes());
        source.put(converted.source.as_bytes());
        Ok(())
    })
}

fn failure(failure: Failure) -> (i32, String) {
    match failure {
        Failure::Syntax(why) => (SYNTAX, why),
        Failure::SourceTooLarge(size) => {
            (TOO_LARGE, format!("{size} bytes of source, the limit is {}", template::SOURCE_LIMIT))
        }
        Failure::Render(why) => (FAILED, why),
        Failure::Limit(why) => (LIMIT, why),
        Failure::Input(why) => (INPUT, why),
        Failure::Panic => (PANIC, panic_text()),
    }
}

/// # Safety
/// `source` is readable, `out` writable.
#[no_mangle]
pub unsafe extern "C" fn ingot_template_parse(source: Slice, out: *mut *mut Template, error: Output) -> i32 {
    guarded(error, || {
        let template = Template::parse(&source.text()).map_err(failure)?;
        *out = Box::into_raw(Box::new(template));
        Ok(())
    })
}

/// # Safety
/// `template` is from ingot_template_parse, and this is its last use.
#[no_mangle]
pub unsafe extern "C" fn ingot_template_close(template: *mut Template) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(template))));
}

/// # Safety
/// `template` is open, `messages` (a JSON array), `tokens` and `variables` (JSON objects) readable.
#[no_mangle]
pub unsafe extern "C" fn ingot_template_render(
    template: *const Template,
    messages: Slice,
    tokens: Slice,
    variables: Slice,
    continued: bool,
    text: Output,
    error: Output,
) -> i32 {
    guarded(error, || {
        let given =
            Given { messages: &messages.text(), tokens: &tokens.text(), variables: &variables.text(), continued };
        let rendered = (*template).render(&given).map_err(failure)?;
        text.put(&rendered);
        Ok(())
    })
}

/// Renders and encodes. Control tokens in messages and variables stay plain text (guard.rs).
///
/// # Safety
/// `template` and `tokenizer` are open, `messages` (a JSON array), `tokens` and `variables` (JSON objects) readable.
#[no_mangle]
pub unsafe extern "C" fn ingot_template_encode(
    template: *const Template,
    tokenizer: *const Tokenizer,
    messages: Slice,
    tokens: Slice,
    variables: Slice,
    continued: bool,
    most: usize,
    text: Output,
    ids: Output,
    error: Output,
) -> i32 {
    guarded(error, || {
        let tokenizer = &*tokenizer;
        let given =
            Given { messages: &messages.text(), tokens: &tokens.text(), variables: &variables.text(), continued };
        let (shown, prefixed) = (*template).render_guarded(&given, tokenizer).map_err(failure)?;
        text.put(shown.as_bytes());
        let most = if shown.len() <= SHORT { usize::MAX } else { most };
        let found = match (prefixed.is_empty(), most) {
            (true, usize::MAX) => tokenizer.encode(&shown, true).map(Some),
            (true, most) => tokenizer.encode_within(&shown, true, most),
            (false, usize::MAX) => tokenizer.encode_guarded(&prefixed).map(Some),
            (false, most) => tokenizer.encode_guarded_within(&shown, &prefixed, most),
        };
        let Some(found) = found.map_err(|why| (FAILED, why))? else { return Err((TOO_LARGE, String::new())) };
        ids.put(std::slice::from_raw_parts(found.as_ptr().cast::<u8>(), 4 * found.len()));
        Ok(())
    })
}

/// # Safety
/// `template` is open, `variable` readable.
#[no_mangle]
pub unsafe extern "C" fn ingot_template_uses(template: *const Template, variable: Slice) -> bool {
    catch_unwind(AssertUnwindSafe(|| (*template).uses(&variable.text()))).unwrap_or(false)
}

fn refusal(failure: grammar::Failure) -> (i32, String) {
    match failure {
        grammar::Failure::Source(why) => (SYNTAX, why),
        grammar::Failure::TooLarge(why) => (TOO_LARGE, why),
        grammar::Failure::Refused(why) => (LIMIT, why),
        grammar::Failure::Panic(what) => (PANIC, format!("{}: {what}", panic_text())),
    }
}

/// # Safety
/// `tokenizer` is open, `eos` holds aligned u32, `out` is writable.
#[no_mangle]
pub unsafe extern "C" fn ingot_vocabulary_open(
    tokenizer: *const Tokenizer,
    ids: u32,
    eos: Slice,
    out: *mut *const Vocabulary,
    error: Output,
) -> i32 {
    guarded(error, || {
        let eos: Vec<u32> =
            eos.bytes().chunks_exact(4).map(|id| u32::from_ne_bytes([id[0], id[1], id[2], id[3]])).collect();
        let vocabulary = Vocabulary::new(&*tokenizer, ids, &eos).map_err(|why| (FAILED, why))?;
        *out = Arc::into_raw(Arc::new(vocabulary));
        Ok(())
    })
}

/// # Safety
/// `vocabulary` is from ingot_vocabulary_open, and this is its last use here; grammars keep their own reference.
#[no_mangle]
pub unsafe extern "C" fn ingot_vocabulary_close(vocabulary: *const Vocabulary) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(Arc::from_raw(vocabulary))));
}

/// # Safety
/// `vocabulary` is open, `source` readable, `out` writable.
#[no_mangle]
pub unsafe extern "C" fn ingot_grammar_compile(
    vocabulary: *const Vocabulary,
    kind: u8,
    source: Slice,
    out: *mut *const Grammar,
    error: Output,
) -> i32 {
    guarded(error, || {
        Arc::increment_strong_count(vocabulary);
        let vocabulary = Arc::from_raw(vocabulary);
        let kind = grammar::Kind::from_abi(kind).ok_or((INPUT, format!("unknown kind {kind}")))?;
        let source = std::str::from_utf8(source.bytes()).map_err(|e| (SYNTAX, format!("not UTF-8: {e}")))?;
        let grammar = Grammar::compile(&vocabulary, kind, source).map_err(refusal)?;
        *out = Arc::into_raw(Arc::new(grammar));
        Ok(())
    })
}

/// # Safety
/// `schema` is readable.
#[no_mangle]
pub unsafe extern "C" fn ingot_schema_check(schema: Slice, close_objects: bool, error: Output) -> i32 {
    guarded(error, || grammar::check_schema(&schema.text(), close_objects).map_err(refusal))
}

/// # Safety
/// `schema` is readable.
#[no_mangle]
pub unsafe extern "C" fn ingot_schema_close(schema: Slice, closed: Output, error: Output) -> i32 {
    guarded(error, || {
        closed.put(grammar::close_objects(&schema.text()).map_err(refusal)?.as_bytes());
        Ok(())
    })
}

/// # Safety
/// `format` is readable.
#[no_mangle]
pub unsafe extern "C" fn ingot_format_pattern(format: Slice, pattern: Output, error: Output) -> i32 {
    guarded(error, || {
        pattern.put(schema::format_pattern(&format.text()).unwrap_or_default().as_bytes());
        Ok(())
    })
}

/// # Safety
/// `grammar` is from ingot_grammar_compile, and this is its last use here; constraints keep their own reference.
#[no_mangle]
pub unsafe extern "C" fn ingot_grammar_close(grammar: *const Grammar) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(Arc::from_raw(grammar))));
}

/// # Safety
/// `grammar` is open, `out` writable.
#[no_mangle]
pub unsafe extern "C" fn ingot_grammar_start(grammar: *const Grammar, out: *mut *mut Constraint, error: Output) -> i32 {
    guarded(error, || {
        Arc::increment_strong_count(grammar);
        *out = Box::into_raw(Box::new(Arc::from_raw(grammar).start()));
        Ok(())
    })
}

/// # Safety
/// `constraint` is open and not in use elsewhere, `words` writable.
#[no_mangle]
pub unsafe extern "C" fn ingot_constraint_allowed(
    constraint: *mut Constraint,
    words: *mut Slice,
    error: Output,
) -> i32 {
    guarded(error, || {
        let mask = (*constraint).allowed().map_err(refusal)?;
        *words = Slice { data: mask.as_ptr().cast(), size: mask.len() };
        Ok(())
    })
}

/// # Safety
/// `constraint` is open and not in use elsewhere.
#[no_mangle]
pub unsafe extern "C" fn ingot_constraint_accept(constraint: *mut Constraint, id: u32, error: Output) -> i32 {
    guarded(error, || (*constraint).accept(id).map_err(refusal))
}

/// # Safety
/// `constraint` is open.
#[no_mangle]
pub unsafe extern "C" fn ingot_constraint_complete(constraint: *const Constraint) -> bool {
    catch_unwind(AssertUnwindSafe(|| (*constraint).complete())).unwrap_or(false)
}

/// # Safety
/// `constraint` is open and not in use elsewhere, `out` writable.
#[no_mangle]
pub unsafe extern "C" fn ingot_constraint_clone(
    constraint: *const Constraint,
    out: *mut *mut Constraint,
    error: Output,
) -> i32 {
    guarded(error, || {
        *out = Box::into_raw(Box::new((*constraint).clone()));
        Ok(())
    })
}

/// # Safety
/// `constraint` is open, and this is its last use.
#[no_mangle]
pub unsafe extern "C" fn ingot_constraint_close(constraint: *mut Constraint) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(constraint))));
}
