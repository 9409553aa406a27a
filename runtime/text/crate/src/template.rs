//! Chat templates: Jinja as Hugging Face transformers sets it up.
//!
//! There: trim_blocks, lstrip_blocks, loop controls, `raise_exception`, `strftime_now`, a `tojson`
//! that writes what Python's json.dumps writes, and a `generation` block that only marks
//! text for training.

use crate::budget;
use crate::guard::{Markers, Specials};
use crate::pipeline::Tokenizer;
use crate::python_json;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde, Value};
use minijinja::{Environment, Error, ErrorKind};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

pub const SOURCE_LIMIT: usize = 1 << 20;
pub const OUTPUT_LIMIT: usize = 4 << 20;
const FUEL: u64 = 10_000_000;
const RECURSION: usize = 128;
const MEMORY: usize = 64 << 20;

pub enum Failure {
    Syntax(String),
    SourceTooLarge(usize),
    Render(String),
    Limit(String),
    Input(String),
    Panic,
}

pub struct Template {
    source: String,
    environment: Arc<Environment<'static>>,
    /// A render took too much memory; another would keep as much again.
    given_up: AtomicBool,
    /// What is text in the messages of outsiders (guard.rs), by the tokenizer that it was made for.
    outside: Mutex<Option<(u64, Arc<Specials>)>>,
}

fn describe(error: &Error) -> String {
    let mut text = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    if let Some(line) = error.line() {
        text += &format!(" (template line {line})");
    }
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text += &format!(": {next}");
        cause = next.source();
    }
    text.replace('\n', " ")
}

/// `{% generation %}` becomes `{% if true %}`, keeping whitespace control.
fn without_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at);
        out += before;
        let end = tag.find("%}").map_or(tag.len(), |end| end + 2);
        let (tag, after) = tag.split_at(end);
        let inner = tag.strip_prefix("{%").and_then(|t| t.strip_suffix("%}")).unwrap_or("");
        match inner.trim_matches(|c: char| c == '-' || c == '+' || c.is_whitespace()) {
            "generation" => out += &tag.replace("generation", "if true"),
            "endgeneration" => out += &tag.replace("endgeneration", "endif"),
            _ => out += tag,
        }
        rest = after;
    }
    out + rest
}

fn strftime_now(format: &str) -> Result<String, Error> {
    let fail = |why: &str| Error::new(ErrorKind::InvalidOperation, format!("strftime_now: {why}"));
    let format = std::ffi::CString::new(format).map_err(|_| fail("the format has a zero byte"))?;
    let mut buffer = [0u8; 1024];
    // SAFETY: all pointers are to live locals of the right size; strftime writes at most
    // buffer.len() bytes and returns how many.
    let written = unsafe {
        let now = libc::time(std::ptr::null_mut());
        let mut parts: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&now, &mut parts).is_null() {
            return Err(fail("no local time"));
        }
        libc::strftime(buffer.as_mut_ptr().cast(), buffer.len(), format.as_ptr(), &parts)
    };
    Ok(String::from_utf8_lossy(&buffer[..written]).into_owned())
}

fn tojson(value: Value, kwargs: Kwargs) -> Result<String, Error> {
    let indent: Option<Value> = kwargs.get("indent")?;
    let indent = match indent {
        None => None,
        Some(v) if v.is_none() => None,
        Some(v) => match (v.as_str(), v.as_usize()) {
            (Some(text), _) => Some(text.to_owned()),
            (_, Some(spaces)) if spaces <= 64 => Some(" ".repeat(spaces)),
            _ => return Err(Error::new(ErrorKind::InvalidOperation, "tojson: bad indent")),
        },
    };
    let separators: Option<Vec<String>> = kwargs.get("separators")?;
    let style = python_json::Style {
        ensure_ascii: kwargs.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        sort_keys: kwargs.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
        separators: match separators.as_deref() {
            Some([item, key]) => Some((item.clone(), key.clone())),
            None => None,
            _ => return Err(Error::new(ErrorKind::InvalidOperation, "tojson: separators are a pair")),
        },
        indent,
    };
    kwargs.assert_all_used()?;
    python_json::dump(&value, &style)
}

/// As Python's: what ends with a line feed keeps it.
fn indent(
    text: String,
    width: Option<usize>,
    first: Option<bool>,
    blank: Option<bool>,
    kwargs: Kwargs,
) -> Result<String, Error> {
    let width = width.map_or_else(|| kwargs.get("width"), |w| Ok(Some(w)))?.unwrap_or(4);
    let first = first.map_or_else(|| kwargs.get("first"), |f| Ok(Some(f)))?.unwrap_or(false);
    let blank = blank.map_or_else(|| kwargs.get("blank"), |b| Ok(Some(b)))?.unwrap_or(false);
    kwargs.assert_all_used()?;
    let before = " ".repeat(width);
    let mut out = String::with_capacity(text.len() + width);
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        if if i == 0 { first } else { blank || !line.is_empty() } {
            out += &before;
        }
        out += line;
    }
    Ok(out)
}

fn environment() -> Result<Environment<'static>, Error> {
    let mut env = Environment::new();
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    env.set_fuel(Some(FUEL));
    env.set_recursion_limit(RECURSION);
    env.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    env.add_filter("tojson", tojson);
    env.add_filter("indent", indent);
    // None is not, in Python: templates ask this before they ask how many tools there are.
    env.add_test("iterable", |value: &Value| !value.is_none() && value.try_iter().is_ok());
    env.add_function("strftime_now", |format: String| strftime_now(&format));
    env.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    Ok(env)
}

/// Stops at the output limit.
struct Limited(Vec<u8>);
impl Write for Limited {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.0.len() + data.len() > OUTPUT_LIMIT {
            return Err(io::Error::other("output limit"));
        }
        self.0.extend(data);
        Ok(data.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// With a blank at its end: a template that trims takes it away.
const TAG: &str = "INGOT_CONTINUES_THIS_MESSAGE ";

/// Gives the content that goes on.
fn tag_last_message(messages: &mut [serde_json::Value]) -> Result<String, Failure> {
    let none = || Failure::Input("the last message has no text that could be continued".into());
    let content = messages.last_mut().and_then(|m| m.get_mut("content")).ok_or_else(none)?;
    let text = match content {
        serde_json::Value::Array(parts) => parts.iter_mut().rev().find_map(|part| part.get_mut("text")),
        content => Some(content),
    };
    match text {
        Some(serde_json::Value::String(text)) => {
            let before = text.clone();
            text.push_str(TAG);
            Ok(before)
        }
        _ => Err(none()),
    }
}

fn until_tag(rendered: Vec<u8>, last: &str) -> Result<Vec<u8>, Failure> {
    let text = String::from_utf8(rendered).unwrap_or_default();
    match text.rfind(TAG.trim_end()) {
        Some(at) if text.contains(last.trim()) => {
            let kept = if text[at..].starts_with(TAG) { &text[..at] } else { text[..at].trim_end() };
            Ok(kept.as_bytes().to_vec())
        }
        _ => Err(Failure::Render("the template does not show the last message whole: it cannot be continued".into())),
    }
}

/// What a rendering is made of: a JSON array, and JSON objects of variables. `tokens` are the tokenizer's own, which
/// stay control tokens; `continued`: the text ends where the last message's content does, as transformers does it:
/// a tag is put after it and looked for.
pub struct Given<'a> {
    pub messages: &'a str,
    pub tokens: &'a str,
    pub variables: &'a str,
    pub continued: bool,
}

fn variables_of(what: &str, json: &str) -> Result<serde_json::Map<String, serde_json::Value>, Failure> {
    serde_json::from_str(json).map_err(|e| Failure::Input(format!("{what}: {e}")))
}

impl Template {
    pub fn parse(source: &str) -> Result<Template, Failure> {
        if source.len() > SOURCE_LIMIT {
            return Err(Failure::SourceTooLarge(source.len()));
        }
        let mut env = environment().map_err(|e| Failure::Syntax(describe(&e)))?;
        env.add_template_owned("chat", without_generation_tags(source)).map_err(|e| Failure::Syntax(describe(&e)))?;
        Ok(Template {
            source: source.to_owned(),
            environment: Arc::new(env),
            given_up: AtomicBool::new(false),
            outside: Mutex::new(None),
        })
    }

    /// Whether what the caller gives under this name can reach the text.
    pub fn uses(&self, variable: &str) -> bool {
        self.environment.get_template("chat").is_ok_and(|t| t.undeclared_variables(false).contains(variable))
    }

    pub fn render(&self, given: &Given) -> Result<Vec<u8>, Failure> {
        self.render_marked(given, None)
    }

    /// Control tokens, and tags that this template spells.
    fn outside(&self, tokenizer: &Tokenizer) -> Arc<Specials> {
        let mut kept = self.outside.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &*kept {
            Some((serial, specials)) if *serial == tokenizer.serial => Arc::clone(specials),
            _ => {
                let made = Arc::new(tokenizer.specials_with(|tag| self.source.contains(tag)));
                *kept = Some((tokenizer.serial, Arc::clone(&made)));
                made
            }
        }
    }

    /// The text, and the same with guard::PREFIX in front of the control tokens that the template wrote;
    /// those that others wrote have none. The latter is empty where nobody wrote one.
    pub fn render_guarded(&self, given: &Given, tokenizer: &Tokenizer) -> Result<(String, String), Failure> {
        let outside = self.outside(tokenizer);
        let seen = [given.messages, given.tokens, given.variables, &self.source];
        let mut markers = Markers::new(tokenizer.specials(), &outside, tokenizer.tags(), &seen);
        let rendered = self.render_marked(given, Some(&mut markers))?;
        let text = String::from_utf8_lossy(&rendered);
        if !markers.any() {
            return Ok((text.into_owned(), String::new()));
        }
        Ok((markers.restore(&text, false), markers.restore(&text, true)))
    }

    fn render_marked(&self, given: &Given, mut markers: Option<&mut Markers>) -> Result<Vec<u8>, Failure> {
        let too_much = || Failure::Limit(format!("the template wants more than {} MiB of memory", MEMORY >> 20));
        if self.given_up.load(Ordering::Relaxed) {
            return Err(too_much());
        }
        let mut messages: Vec<serde_json::Value> =
            serde_json::from_str(given.messages).map_err(|e| Failure::Input(format!("messages: {e}")))?;
        if let Some(markers) = markers.as_deref_mut() {
            messages.iter_mut().for_each(|message| markers.mark_message(message));
        }
        let last = if given.continued { Some(tag_last_message(&mut messages)?) } else { None };
        let tokens = variables_of("tokens", given.tokens)?;
        let mut variables = variables_of("variables", given.variables)?;
        if let Some(markers) = markers {
            for (name, value) in &mut variables {
                markers.mark_variable(name, value);
            }
        }
        let mut context: BTreeMap<String, Value> = BTreeMap::new();
        context.insert("messages".into(), Value::from(Serde(&messages)));
        // transformers always defines these two.
        context.insert("tools".into(), Value::from(()));
        context.insert("documents".into(), Value::from(()));
        for (name, value) in tokens.iter().chain(&variables) {
            context.insert(name.clone(), Value::from(Serde(value)));
        }

        let environment = Arc::clone(&self.environment);
        let outcome = budget::within(MEMORY, move || {
            let mut out = Limited(Vec::new());
            let result =
                environment.get_template("chat").and_then(|t| t.render_captured_to(context, &mut out).map(|_| ()));
            result.map(|()| out.0).map_err(|e| (e.kind(), describe(&e)))
        });
        match outcome {
            None => {
                self.given_up.store(true, Ordering::Relaxed);
                Err(too_much())
            }
            Some(Err(_)) => Err(Failure::Panic),
            Some(Ok(Ok(text))) => match last {
                None => Ok(text),
                Some(last) => until_tag(text, &last),
            },
            Some(Ok(Err((ErrorKind::OutOfFuel, _)))) => {
                Err(Failure::Limit(format!("the template runs more than {FUEL} instructions")))
            }
            Some(Ok(Err((ErrorKind::WriteFailure, _)))) => {
                Err(Failure::Limit(format!("the template writes more than {} MiB", OUTPUT_LIMIT >> 20)))
            }
            Some(Ok(Err((_, why)))) => Err(Failure::Render(why)),
        }
    }
}
