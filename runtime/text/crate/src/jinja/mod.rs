//! Jinja as transformers runs it: minijinja with Python's operators, methods and number formats.
//!
//! Chat templates are written and tested in jinja2's sandbox over Python values, and models were trained on the output
//! of that sandbox. Here, minijinja parses and runs them. Wherever it differs from Python, its behaviour is replaced:
//!
//! ```text
//!   source ─minijinja─▶ syntax tree ─lower─▶ syntax tree ─minijinja─▶ instructions ─minijinja─▶ text
//!                                      │ a % b becomes the filter "%"     │
//!                                      └ names, each with its line        └ filters, tests, methods, formatter: ours
//! ```
//!
//! Intended differences:
//!
//! - integers have 128 bits;
//! - `length`, printing and subscripts work on generators, and a loop over None does not run;
//! - append, extend, insert and pop work on lists that a template created, as llama.cpp allows and Kimi K2 needs;
//! - macros and namespaces print differently, and some error messages are shorter;
//! - jinja2's `random`, `urlize`, `wordwrap`, `lipsum` and {% autoescape %} are missing.

mod filters;
mod formats;
mod functions;
mod lower;
mod methods;
mod operators;
mod tests;
mod text;
pub mod values;

pub use functions::now;
use lower::Lowering;
use minijinja::machinery::{self, CodeGenerator, Instructions, Token};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, Value};
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::sync::{Arc, OnceLock};

pub const FUEL: u64 = 10_000_000;
const RECURSION: usize = 128;

struct Compiled<'source> {
    instructions: Instructions<'source>,
    blocks: BTreeMap<&'source str, Instructions<'source>>,
}

self_cell::self_cell!(
    struct Code {
        owner: String,
        #[covariant]
        dependent: Compiled,
    }
);

/// A parsed template. Any number of threads may render it.
pub struct Program {
    code: Code,
    /// Variables that the template reads without setting them first.
    reads: HashSet<String>,
    /// Variables that the template reads only as `not name`.
    negated: HashSet<String>,
}

fn syntax() -> Result<SyntaxConfig, Error> {
    SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()
}

fn format(out: &mut Output, _: &mut State, value: &Value) -> Result<(), Error> {
    match value.as_str() {
        Some(text) => out.write_str(text)?,
        None => out.write_str(&values::text(value)?)?,
    }
    Ok(())
}

/// Returns the environment, which all templates share. Templates are not stored in it.
fn environment() -> &'static Environment<'static> {
    static ENVIRONMENT: OnceLock<Environment<'static>> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| {
        let mut env = Environment::new();
        env.set_fuel(Some(FUEL));
        env.set_recursion_limit(RECURSION);
        env.set_formatter(format);
        env.set_unknown_method_callback(methods::call);
        operators::add_to(&mut env);
        methods::add_to(&mut env);
        filters::add_to(&mut env);
        functions::add_to(&mut env);
        tests::add_to(&mut env);
        env
    })
}

/// Prepares the source as jinja2 does: lines end with a line feed, and the line feed after {% raw %} stays.
/// `{% generation %}` only marks text for training; it becomes `{% if true %}` with the same whitespace control.
fn prepared(source: &str) -> String {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let mut out = String::with_capacity(source.len());
    let mut rest = source.as_str();
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at);
        out += before;
        let end = tag.find("%}").map_or(tag.len(), |end| end + 2);
        let (tag, after) = tag.split_at(end);
        let inner = tag.strip_prefix("{%").and_then(|t| t.strip_suffix("%}")).unwrap_or("");
        match inner.trim_matches(|c: char| c == '-' || c == '+' || c.is_whitespace()) {
            "generation" => out += &tag.replace("generation", "if true"),
            "endgeneration" => out += &tag.replace("endgeneration", "endif"),
            "raw" if after.starts_with('\n') && !inner.ends_with('-') => {
                out += tag;
                out.push('\n');
            }
            _ => out += tag,
        }
        rest = after;
    }
    out + rest
}

/// Rejects very long expressions, because a recursive parser could overflow the stack on them.
fn check_size(source: &str) -> Result<(), Error> {
    const MOST: usize = 4000;
    let mut tokens = 0;
    for token in machinery::tokenize(source, false, syntax()?) {
        let (token, span) = token?;
        tokens = match token {
            Token::VariableStart | Token::BlockStart => 0,
            _ => tokens + 1,
        };
        if tokens > MOST {
            let why = format!("a tag has more than {MOST} tokens (template line {})", span.start_line);
            return Err(Error::new(ErrorKind::SyntaxError, why));
        }
    }
    Ok(())
}

impl Program {
    /// Fails on syntax errors and on missing filters, tests, functions and methods, with their lines.
    pub fn parse(source: &str) -> Result<Program, Error> {
        let (mut reads, mut negated) = (HashSet::new(), HashSet::new());
        let code = Code::try_new(prepared(source), |source| {
            check_size(source)?;
            let tree = machinery::parse(source, "chat", syntax()?)?;
            let mut lowering = Lowering::default();
            let lowered = lowering.stmt(&tree);
            lowering.check()?;
            negated = lowering.negated();
            let mut generator = CodeGenerator::new("chat", source);
            generator.compile_stmt(&lowered);
            let (instructions, blocks) = generator.finish();
            let mut plain = Environment::empty();
            plain.set_syntax(syntax()?);
            reads = plain.template_from_str(source)?.undeclared_variables(false);
            Ok::<_, Error>(Compiled { instructions, blocks })
        })?;
        Ok(Program { code, reads, negated })
    }

    /// Returns whether a variable of this name from the caller can affect the text.
    pub fn reads(&self, variable: &str) -> bool {
        self.reads.contains(variable)
    }

    /// Returns whether the template reads this variable only as `not variable`, and never tests whether it is defined.
    pub fn only_negates(&self, variable: &str) -> bool {
        self.negated.contains(variable)
    }

    /// Renders the template. minijinja passes an output with a size limit only to formatters. The program therefore
    /// runs in the formatter of another template, which prints one value.
    pub fn render(self: &Arc<Self>, context: Value, out: impl Write) -> Result<(), Error> {
        let program = Arc::clone(self);
        let mut frame = Environment::empty();
        frame.set_formatter(move |out, _, context| {
            let code = program.code.borrow_dependent();
            let (instructions, blocks) = (&code.instructions, &code.blocks);
            machinery::eval(environment(), instructions, context.clone(), blocks, out, AutoEscape::None).map(|_| ())
        });
        let context = BTreeMap::from([("context", context)]);
        frame.template_from_str("{{ context }}")?.render_captured_to(context, out).map(|_| ())
    }
}
