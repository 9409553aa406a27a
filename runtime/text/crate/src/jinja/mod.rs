//! Jinja as transformers runs it: minijinja, taught Python's operators, methods and number forms.
//!
//! Chat templates are written and tried in jinja2's sandbox over Python's values, and what they print there is what a
//! model was trained on. minijinja parses and runs them; what it does otherwise than Python is replaced:
//!
//! ```text
//!   source ─minijinja─▶ syntax tree ─lower─▶ syntax tree ─minijinja─▶ instructions ─minijinja─▶ text
//!                                      │ a % b becomes the filter "%"     │
//!                                      └ names, each with its line        └ filters, tests, methods, formatter: ours
//! ```
//!
//! What differs on purpose: integers have 128 bits; `length`, printing and subscripts work on generators, and a loop over
//! None runs no time; append, extend, insert and pop work on lists that a template made (llama.cpp allows them, and Kimi
//! K2 needs them); macros and namespaces print otherwise; the texts of some errors are shorter. Of jinja2, `random`, `urlize`, `wordwrap`, `lipsum` and {% autoescape %} are missing.

mod filters;
mod formats;
mod lower;
mod methods;
mod operators;
mod tests;
mod text;
pub mod values;

pub use filters::now;
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

/// A template that was parsed; any number of threads may render it.
pub struct Program {
    code: Code,
    /// Variables that it reads and does not set before.
    reads: HashSet<String>,
    /// Those that it reads only as `not name`.
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

/// The same for every template: they are not kept in it.
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
        tests::add_to(&mut env);
        env
    })
}

/// As jinja2 reads it: lines end with a line feed, and the one behind {% raw %} stays. `{% generation %}` only marks text
/// for training: it becomes `{% if true %}`, with its control of whitespace.
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

/// A parser that recurses must not see an expression without end.
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
            let why = format!("a tag has more than {MOST} words and signs (template line {})", span.start_line);
            return Err(Error::new(ErrorKind::SyntaxError, why));
        }
    }
    Ok(())
}

impl Program {
    /// Errors: of the syntax, and names of filters, tests, functions and methods that there are not; with their lines.
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

    /// Whether what the caller gives under this name can reach the text.
    pub fn reads(&self, variable: &str) -> bool {
        self.reads.contains(variable)
    }

    /// Whether it reads this variable only as `not variable`, and never asks whether it is defined.
    pub fn only_negates(&self, variable: &str) -> bool {
        self.negated.contains(variable)
    }

    /// minijinja lends an output that can be bounded only to formatters: the one of a template that prints the program.
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
