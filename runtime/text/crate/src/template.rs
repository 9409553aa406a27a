//! Chat templates: Jinja as Hugging Face transformers runs it (jinja/), within limits.

use crate::budget;
use crate::guard::{Markers, Specials};
use crate::jinja::{self, Program};
use crate::pipeline::Tokenizer;
use minijinja::value::{Serde, Value};
use minijinja::{Error, ErrorKind};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

pub const SOURCE_LIMIT: usize = 1 << 20;
pub const OUTPUT_LIMIT: usize = 4 << 20;
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
    program: Arc<Program>,
    /// A render exceeded the memory limit. Another render would leak as much memory again.
    given_up: AtomicBool,
    /// The tokens that stay plain text in external messages (guard.rs), with the serial number of their tokenizer.
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

/// Variables that a template gets if the request does not set them and the template reads them.
///
/// `date_string` and `datetime` are today's date, as in llama.cpp. The templates of Llama 3.3 and Firefunction have no
/// other way to get it. `enable_thinking` is true for a template that reads it only as `not enable_thinking`, because
/// such a template was written for llama.cpp, which always sets it. Every other template handles a missing variable
/// itself, as in transformers.
fn defaults(program: &Program) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for (name, format) in [("date_string", "%d %b %Y"), ("datetime", "%b %d %Y")] {
        if let (true, Ok(date)) = (program.reads(name), jinja::now(format)) {
            found.insert(name.into(), Value::from(date));
        }
    }
    if program.only_negates("enable_thinking") {
        found.insert("enable_thinking".into(), Value::from(true));
    }
    found
}

/// The variable with the tools as text, or "", for the template of Firefunction. llama.cpp also sets it.
const FUNCTIONS: &str = "functions";

fn functions_of(variables: &serde_json::Map<String, serde_json::Value>) -> Value {
    let tools = variables.get("tools").filter(|tools| !tools.is_null());
    Value::from(tools.map(|tools| format!("{tools:#}")).unwrap_or_default())
}

/// An output that fails at the output limit.
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

/// The tag of a message that is continued. If its last character, a blank, is missing, the template trims contents.
const TAG: &str = "INGOT_CONTINUES_THIS_MESSAGE ";

/// Appends the tag to the last message, and returns the content that is to be continued.
fn tag_last_message(messages: &mut [serde_json::Value]) -> Result<String, Failure> {
    let none = || Failure::Input("the last message has no text to continue".into());
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
        _ => Err(Failure::Render(
            "the template does not render the whole last message, so it cannot be continued".into(),
        )),
    }
}

/// The input of a rendering: a JSON array of messages, and JSON objects of variables. `tokens` are the tokens of the
/// tokenizer, which stay control tokens. With `continued`, the text ends where the content of the last message ends. As
/// in transformers, a tag is appended to that content and searched for in the result.
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
        let text = source.to_owned();
        let program = match budget::within(budget::UNLIMITED, move || Program::parse(&text)) {
            Some(Ok(parsed)) => parsed.map_err(|e| Failure::Syntax(describe(&e)))?,
            _ => return Err(Failure::Panic),
        };
        Ok(Template {
            source: source.to_owned(),
            program: Arc::new(program),
            given_up: AtomicBool::new(false),
            outside: Mutex::new(None),
        })
    }

    /// Returns whether a variable of this name from the caller can affect the text.
    pub fn uses(&self, variable: &str) -> bool {
        self.program.reads(variable) || (variable == "tools" && self.program.reads(FUNCTIONS))
    }

    pub fn render(&self, given: &Given) -> Result<Vec<u8>, Failure> {
        self.render_marked(given, None)
    }

    /// Returns the control tokens, and the tags that this template contains.
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

    /// Returns the text twice. The second text has guard::PREFIX before the template's control tokens, but not before
    /// control tokens of contents. It is empty if the contents have no control tokens.
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
        let too_much = || Failure::Limit(format!("the template needs more than {} MiB of memory", MEMORY >> 20));
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
        let mut context = defaults(&self.program);
        context.insert("messages".into(), Value::from(Serde(&messages)));
        // transformers always defines these two.
        context.insert("tools".into(), Value::from(()));
        context.insert("documents".into(), Value::from(()));
        if self.program.reads(FUNCTIONS) {
            context.insert(FUNCTIONS.into(), functions_of(&variables));
        }
        for (name, value) in tokens.iter().chain(&variables) {
            context.insert(name.clone(), Value::from(Serde(value)));
        }

        let program = Arc::clone(&self.program);
        let outcome = budget::within(MEMORY, move || {
            let mut out = Limited(Vec::new());
            let result = program.render(Value::from(context), &mut out);
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
                Err(Failure::Limit(format!("the template executes more than {} instructions", jinja::FUEL)))
            }
            Some(Ok(Err((ErrorKind::WriteFailure, _)))) => {
                Err(Failure::Limit(format!("the template produces more than {} MiB", OUTPUT_LIMIT >> 20)))
            }
            Some(Ok(Err((_, why)))) => Err(Failure::Render(why)),
        }
    }
}
