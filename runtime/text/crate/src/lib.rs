//! The C ABI of Ingot's text libraries (../../TextAbi.h is the other side).
//!
//! Rules of the border: nothing unwinds across it (every call runs in `guarded`); results go out
//! through sinks, so no memory changes owner; texts come in as pointer and length.

mod budget;
mod compile;
mod decoding;
mod flat_bpe;
mod pipeline;
mod python_json;
mod template;

use pipeline::Tokenizer;
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, Once};
use template::{Failure, Template};

/// Takes bytes; called any number of times before the function that got it returns.
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

    /// SAFETY: the caller's promise in TextAbi.h: readable for `'a`, null only if empty.
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

/// Where the last panic happened: "minijinja-3.0.5/src/value/ops.rs:185".
static PANICKED_AT: Mutex<String> = Mutex::new(String::new());

/// Panics are caught and told as errors, so nothing is printed; the place is kept for the message.
fn keep_place_of_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let place = info.location().map_or_else(String::new, |at| {
                let parts: Vec<&str> = at.file().split('/').collect();
                // From the crate's folder on: what stands before is a path of the build machine.
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
    ids: Output,
    error: Output,
) -> i32 {
    guarded(error, || {
        let found = (*tokenizer).encode(&text.text(), parse_special).map_err(|why| (FAILED, why))?;
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
/// `tokenizer` is open, `token` readable. -1: there is no such token.
#[no_mangle]
pub unsafe extern "C" fn ingot_tokenizer_id(tokenizer: *const Tokenizer, token: Slice) -> i64 {
    let find = || std::str::from_utf8(token.bytes()).ok().and_then(|token| (*tokenizer).id_of(token));
    catch_unwind(AssertUnwindSafe(find)).ok().flatten().map_or(-1, i64::from)
}

/// # Safety
/// `json` is readable, `is_flat` writable.
#[no_mangle]
pub unsafe extern "C" fn ingot_tokenizer_compile(
    json: Slice,
    library_model: bool,
    is_flat: *mut bool,
    segment: Output,
    error: Output,
) -> i32 {
    guarded(error, || {
        let (bytes, flat) = compile::compile(json.bytes(), library_model).map_err(|why| (DAMAGED, why))?;
        *is_flat = flat;
        segment.put(&bytes);
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
/// `template` is open, `messages` (a JSON array) and `variables` (a JSON object) readable.
#[no_mangle]
pub unsafe extern "C" fn ingot_template_render(
    template: *const Template,
    messages: Slice,
    variables: Slice,
    text: Output,
    error: Output,
) -> i32 {
    guarded(error, || {
        let rendered = (*template).render(&messages.text(), &variables.text()).map_err(failure)?;
        text.put(&rendered);
        Ok(())
    })
}
