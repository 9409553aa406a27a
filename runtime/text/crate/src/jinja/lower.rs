//! Rewrites minijinja's syntax tree so that operators, slices and lists behave as in Python, and collects the names
//! that it uses.
//!
//! A template that uses a missing filter, test, function or method would fail only in the first conversation that
//! reaches that place. It is better to reject it when a model is compiled. Uses of names that a template checks first,
//! by `{% if f is defined %}` for a function or `{% if 'f' is filter %}` for a filter, are accepted.

use super::{filters, functions, methods, tests};
use minijinja::machinery::ast::*;
use minijinja::machinery::Span;
use minijinja::{Error, ErrorKind, Value};
use std::collections::HashSet;

#[derive(Clone, Copy, PartialEq)]
enum Use {
    Filter,
    Test,
    Function,
    Method,
    Variable,
    Tag,
}

#[derive(Default)]
pub struct Lowering<'a> {
    uses: Vec<(Use, String, u16)>,
    /// Names that the template sets anywhere, passes as keyword arguments, or checks before use.
    known: HashSet<String>,
    /// Variables that are read as `not name`, and variables that are read in any other way.
    negated: HashSet<&'a str>,
    plain: HashSet<&'a str>,
    /// The number of times that `loop` was read.
    loops: usize,
}

fn filter<'a>(name: &'static str, first: Expr<'a>, rest: Vec<Expr<'a>>, span: Span) -> Expr<'a> {
    let args = rest.into_iter().map(CallArg::Pos).collect();
    Expr::Filter(Spanned::new(Filter { name, expr: Some(first), args }, span))
}

fn constant<'a>(value: Value, span: Span) -> Expr<'a> {
    Expr::Const(Spanned::new(Const { value }, span))
}

fn text<'e>(expr: &'e Expr) -> Option<&'e str> {
    match expr {
        Expr::Const(constant) => constant.value.as_str(),
        _ => None,
    }
}

/// Returns the filter for an operator; None if minijinja's own operator behaves like Python's.
fn operator(op: BinOpKind) -> Option<&'static str> {
    Some(match op {
        BinOpKind::Add => "+",
        BinOpKind::Sub => "-",
        BinOpKind::Mul => "*",
        BinOpKind::Div => "/",
        BinOpKind::FloorDiv => "//",
        BinOpKind::Rem => "%",
        BinOpKind::Pow => "**",
        BinOpKind::Concat => "~",
        BinOpKind::Lt => "<",
        BinOpKind::Lte => "<=",
        BinOpKind::Gt => ">",
        BinOpKind::Gte => ">=",
        BinOpKind::Eq | BinOpKind::Ne | BinOpKind::In | BinOpKind::ScAnd | BinOpKind::ScOr => return None,
    })
}

impl<'a> Lowering<'a> {
    /// Returns the variables that are read only as `not name`.
    pub fn negated(&self) -> HashSet<String> {
        self.negated.difference(&self.plain).map(|name| name.to_string()).collect()
    }

    /// Fails if names do not exist, and reports the first four of them.
    pub fn check(&self) -> Result<(), Error> {
        const MOST: usize = 4;
        let is_missing = |(what, name, _): &&(Use, String, u16)| match what {
            Use::Tag => true,
            _ if self.known.contains(name) => false,
            Use::Filter => !filters::NAMES.contains(&name.as_str()),
            Use::Test => !tests::NAMES.contains(&name.as_str()),
            Use::Function => !functions::FUNCTIONS.contains(&name.as_str()),
            Use::Method => !methods::exists(name),
            Use::Variable => true,
        };
        let missing: Vec<_> = self.uses.iter().filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let told: Vec<String> = missing.iter().take(MOST).map(|(what, name, line)| told(*what, name, *line)).collect();
        let more = missing.len() - told.len();
        let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
        let why = "it needs a feature that chat templates in transformers lack, or that is not supported here";
        Err(Error::new(ErrorKind::SyntaxError, format!("{why}: {}{rest}", told.join(", "))))
    }

    fn uses(&mut self, what: Use, name: &str, span: Span) {
        self.uses.push((what, name.to_owned(), span.start_line));
    }

    fn body(&mut self, body: &[Stmt<'a>]) -> Vec<Stmt<'a>> {
        body.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    fn exprs(&mut self, exprs: &[Expr<'a>]) -> Vec<Expr<'a>> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    fn optional(&mut self, expr: &Option<Expr<'a>>) -> Option<Expr<'a>> {
        expr.as_ref().map(|expr| self.expr(expr))
    }

    pub fn stmt(&mut self, stmt: &Stmt<'a>) -> Stmt<'a> {
        match stmt {
            Stmt::Template(s) => Stmt::Template(Spanned::new(Template { children: self.body(&s.children) }, s.span())),
            Stmt::EmitExpr(s) => Stmt::EmitExpr(Spanned::new(EmitExpr { expr: self.expr(&s.expr) }, s.span())),
            Stmt::EmitRaw(s) => Stmt::EmitRaw(Spanned::new(EmitRaw { raw: s.raw }, s.span())),
            Stmt::ForLoop(s) => Stmt::ForLoop(self.each(s)),
            Stmt::IfCond(s) => {
                let expr = self.expr(&s.expr);
                let (true_body, false_body) = (self.body(&s.true_body), self.body(&s.false_body));
                Stmt::IfCond(Spanned::new(IfCond { expr, true_body, false_body }, s.span()))
            }
            Stmt::WithBlock(s) => {
                // All values are evaluated outside the block.
                let values = s.assignments.iter().map(|(_, value)| self.expr(value)).collect();
                let targets = s.assignments.iter().map(|(target, _)| self.target(target)).collect();
                let values = Expr::Tuple(Spanned::new(Tuple { items: values }, s.span()));
                let targets = Expr::List(Spanned::new(List { items: targets }, s.span()));
                let with = WithBlock { assignments: vec![(targets, values)], body: self.body(&s.body) };
                Stmt::WithBlock(Spanned::new(with, s.span()))
            }
            Stmt::Set(s) => {
                let set = Set { expr: self.expr(&s.expr), target: self.target(&s.target) };
                Stmt::Set(Spanned::new(set, s.span()))
            }
            Stmt::SetBlock(s) => {
                let (body, filter) = (self.body(&s.body), self.optional(&s.filter));
                Stmt::SetBlock(Spanned::new(SetBlock { target: self.target(&s.target), filter, body }, s.span()))
            }
            Stmt::FilterBlock(s) => {
                let (filter, body) = (self.expr(&s.filter), self.body(&s.body));
                Stmt::FilterBlock(Spanned::new(FilterBlock { filter, body }, s.span()))
            }
            Stmt::Block(s) => {
                let block = Block { name: s.name, required: s.required, body: self.body(&s.body) };
                Stmt::Block(Spanned::new(block, s.span()))
            }
            Stmt::Macro(s) => Stmt::Macro(self.declaration(s)),
            Stmt::CallBlock(s) => {
                let (call, macro_decl) = (self.call(&s.call), self.declaration(&s.macro_decl));
                Stmt::CallBlock(Spanned::new(CallBlock { call, macro_decl }, s.span()))
            }
            Stmt::Do(s) => Stmt::Do(Spanned::new(Do { call: self.call(&s.call) }, s.span())),
            Stmt::Continue(s) => Stmt::Continue(Spanned::new(Continue, s.span())),
            Stmt::Break(s) => Stmt::Break(Spanned::new(Break, s.span())),
            Stmt::AutoEscape(s) => self.without("autoescape", s.span()),
            Stmt::Import(s) => self.without("import", s.span()),
            Stmt::FromImport(s) => self.without("from", s.span()),
            Stmt::Extends(s) => self.without("extends", s.span()),
            Stmt::Include(s) => self.without("include", s.span()),
        }
    }

    fn without(&mut self, tag: &'static str, span: Span) -> Stmt<'a> {
        self.uses(Use::Tag, tag, span);
        Stmt::EmitRaw(Spanned::new(EmitRaw { raw: "" }, span))
    }

    /// minijinja filters a sequence before the loop runs. jinja2 filters during the loop, so the condition may read
    /// variables that the body sets. If the loop does not read `loop`, the condition moves into the body.
    fn each(&mut self, s: &Spanned<ForLoop<'a>>) -> Spanned<ForLoop<'a>> {
        let (iter, target) = (self.expr(&s.iter), self.target(&s.target));
        let before = self.loops;
        let (mut filter_expr, mut body) = (self.optional(&s.filter_expr), self.body(&s.body));
        if self.loops == before && s.else_body.is_empty() {
            if let Some(expr) = filter_expr.take() {
                let guarded = IfCond { expr, true_body: body, false_body: vec![] };
                body = vec![Stmt::IfCond(Spanned::new(guarded, s.span()))];
            }
        }
        let else_body = self.body(&s.else_body);
        Spanned::new(ForLoop { target, iter, filter_expr, recursive: s.recursive, body, else_body }, s.span())
    }

    /// Defaults become the first statements of the body, since they may read earlier arguments.
    fn declaration(&mut self, s: &Spanned<Macro<'a>>) -> Spanned<Macro<'a>> {
        self.known.insert(s.name.to_owned());
        let args: Vec<Expr<'a>> = s.args.iter().map(|arg| self.target(arg)).collect();
        let first = args.len() - s.defaults.len();
        let mut body = Vec::new();
        for (arg, default) in s.args[first..].iter().zip(&s.defaults) {
            let (expr, target) = (self.target(arg), self.target(arg));
            let test = Test { name: "undefined", expr, args: vec![] };
            let set = Set { target, expr: self.expr(default) };
            let given = IfCond {
                expr: Expr::Test(Spanned::new(test, s.span())),
                true_body: vec![Stmt::Set(Spanned::new(set, s.span()))],
                false_body: vec![],
            };
            body.push(Stmt::IfCond(Spanned::new(given, s.span())));
        }
        body.extend(self.body(&s.body));
        Spanned::new(Macro { name: s.name, args, defaults: vec![], body }, s.span())
    }

    /// Lowers the target of an assignment.
    fn target(&mut self, target: &Expr<'a>) -> Expr<'a> {
        match target {
            Expr::Var(s) => {
                self.known.insert(s.id.to_owned());
                Expr::Var(Spanned::new(Var { id: s.id }, s.span()))
            }
            Expr::List(s) => {
                let items = s.items.iter().map(|item| self.target(item)).collect();
                Expr::List(Spanned::new(List { items }, s.span()))
            }
            Expr::GetAttr(s) => {
                self.known.insert(s.name.to_owned());
                Expr::GetAttr(Spanned::new(GetAttr { expr: self.target(&s.expr), name: s.name }, s.span()))
            }
            other => self.expr(other),
        }
    }

    fn call(&mut self, s: &Spanned<Call<'a>>) -> Spanned<Call<'a>> {
        let expr = match &s.expr {
            Expr::Var(function) => {
                self.uses(Use::Function, function.id, s.span());
                Expr::Var(Spanned::new(Var { id: function.id }, function.span()))
            }
            Expr::GetAttr(method) => {
                if !matches!(&method.expr, Expr::Var(var) if var.id == "self") {
                    self.uses(Use::Method, method.name, s.span());
                }
                let expr = self.expr(&method.expr);
                Expr::GetAttr(Spanned::new(GetAttr { expr, name: method.name }, method.span()))
            }
            other => self.expr(other),
        };
        Spanned::new(Call { expr, args: self.args(&s.args) }, s.span())
    }

    fn args(&mut self, args: &[CallArg<'a>]) -> Vec<CallArg<'a>> {
        let mut lower = |arg: &CallArg<'a>| match arg {
            CallArg::Pos(expr) => CallArg::Pos(self.expr(expr)),
            CallArg::PosSplat(expr) => CallArg::PosSplat(self.expr(expr)),
            CallArg::KwargSplat(expr) => CallArg::KwargSplat(self.expr(expr)),
            CallArg::Kwarg(name, expr) => {
                // A macro may be passed under this name: namespace(f=macro).
                self.known.insert(name.to_string());
                CallArg::Kwarg(name, self.expr(expr))
            }
        };
        args.iter().map(&mut lower).collect()
    }

    fn binary(&mut self, op: BinOpKind, left: &Expr<'a>, right: &Expr<'a>, span: Span) -> Expr<'a> {
        let right = match (op, right) {
            // No code can change this list, so it need not be created anew each time.
            (BinOpKind::In, Expr::List(s)) => Expr::List(Spanned::new(List { items: self.exprs(&s.items) }, s.span())),
            _ => self.expr(right),
        };
        let left = self.expr(left);
        match operator(op) {
            Some(name) => filter(name, left, vec![right], span),
            None => Expr::BinOp(Spanned::new(BinOp { op, left, right }, span)),
        }
    }

    /// a < b < c becomes a < b and b < c.
    fn compare(&mut self, s: &Spanned<Compare<'a>>) -> Expr<'a> {
        let mut left = &s.expr;
        let mut all: Option<Expr<'a>> = None;
        for CompareOp { op, expr } in &s.ops {
            let kind = match op {
                CompareOpKind::Eq => BinOpKind::Eq,
                CompareOpKind::Ne => BinOpKind::Ne,
                CompareOpKind::Lt => BinOpKind::Lt,
                CompareOpKind::Lte => BinOpKind::Lte,
                CompareOpKind::Gt => BinOpKind::Gt,
                CompareOpKind::Gte => BinOpKind::Gte,
                CompareOpKind::In | CompareOpKind::NotIn => BinOpKind::In,
            };
            let mut holds = self.binary(kind, left, expr, s.span());
            if matches!(op, CompareOpKind::NotIn) {
                holds = Expr::UnaryOp(Spanned::new(UnaryOp { op: UnaryOpKind::Not, expr: holds }, s.span()));
            }
            all = Some(match all {
                None => holds,
                Some(left) => Expr::BinOp(Spanned::new(BinOp { op: BinOpKind::ScAnd, left, right: holds }, s.span())),
            });
            left = expr;
        }
        all.unwrap_or_else(|| self.expr(&s.expr))
    }

    /// a ~ b ~ c becomes one operation.
    fn concatenation(&mut self, s: &Spanned<BinOp<'a>>) -> Expr<'a> {
        let mut parts = vec![self.expr(&s.right)];
        let mut left = &s.left;
        while let Expr::BinOp(inner) = left {
            if !matches!(inner.op, BinOpKind::Concat) {
                break;
            }
            parts.push(self.expr(&inner.right));
            left = &inner.left;
        }
        parts.reverse();
        filter("~", self.expr(left), parts, s.span())
    }

    pub fn expr(&mut self, expr: &Expr<'a>) -> Expr<'a> {
        let span = expr.span();
        match expr {
            Expr::Var(s) => {
                self.plain.insert(s.id);
                self.loops += usize::from(s.id == "loop");
                if ["varargs", "kwargs"].contains(&s.id) {
                    self.uses(Use::Variable, s.id, span);
                }
                Expr::Var(Spanned::new(Var { id: s.id }, span))
            }
            Expr::Const(s) => constant(s.value.clone(), span),
            Expr::Slice(s) => {
                let bound = |bound: &Option<Expr<'a>>| match bound {
                    Some(bound) => self.expr(bound),
                    None => constant(Value::from(()), span),
                };
                let bounds = [&s.start, &s.stop, &s.step].map(bound);
                filter("[:]", self.expr(&s.expr), bounds.into(), span)
            }
            Expr::UnaryOp(s) => match (&s.op, &s.expr) {
                (UnaryOpKind::Not, Expr::Var(var)) => {
                    self.negated.insert(var.id);
                    let expr = Expr::Var(Spanned::new(Var { id: var.id }, var.span()));
                    Expr::UnaryOp(Spanned::new(UnaryOp { op: UnaryOpKind::Not, expr }, span))
                }
                (UnaryOpKind::Not, other) => {
                    Expr::UnaryOp(Spanned::new(UnaryOp { op: UnaryOpKind::Not, expr: self.expr(other) }, span))
                }
                (UnaryOpKind::Neg, other) => filter("-x", self.expr(other), vec![], span),
            },
            Expr::BinOp(s) if matches!(s.op, BinOpKind::Concat) => self.concatenation(s),
            Expr::BinOp(s) => self.binary(s.op, &s.left, &s.right, span),
            Expr::Compare(s) => self.compare(s),
            Expr::IfExpr(s) => {
                let (test_expr, true_expr) = (self.expr(&s.test_expr), self.expr(&s.true_expr));
                let false_expr = self.optional(&s.false_expr);
                Expr::IfExpr(Spanned::new(IfExpr { test_expr, true_expr, false_expr }, span))
            }
            Expr::Filter(s) => {
                let expr = self.optional(&s.expr);
                self.named_filter(s);
                Expr::Filter(Spanned::new(Filter { name: s.name, expr, args: self.args(&s.args) }, span))
            }
            Expr::Test(s) => {
                self.named_test(s);
                let expr = self.expr(&s.expr);
                Expr::Test(Spanned::new(Test { name: s.name, expr, args: self.args(&s.args) }, span))
            }
            Expr::GetAttr(s) => {
                let expr = self.expr(&s.expr);
                match methods::attribute(s.name) {
                    Some(name) => filter(name, expr, vec![], span),
                    None => Expr::GetAttr(Spanned::new(GetAttr { expr, name: s.name }, span)),
                }
            }
            Expr::GetItem(s) if text(&s.subscript_expr).is_some_and(|name| methods::attribute(name).is_some()) => {
                filter("[.]", self.expr(&s.expr), vec![self.expr(&s.subscript_expr)], span)
            }
            Expr::GetItem(s) => {
                let (expr, subscript_expr) = (self.expr(&s.expr), self.expr(&s.subscript_expr));
                Expr::GetItem(Spanned::new(GetItem { expr, subscript_expr }, span))
            }
            Expr::Call(s) => Expr::Call(self.call(s)),
            Expr::List(s) => {
                let list = Expr::List(Spanned::new(List { items: self.exprs(&s.items) }, span));
                filter("[]", list, vec![], span)
            }
            Expr::Tuple(s) => Expr::Tuple(Spanned::new(Tuple { items: self.exprs(&s.items) }, span)),
            Expr::Map(s) => {
                self.known.extend(s.keys.iter().filter_map(text).map(ToOwned::to_owned));
                let (keys, values) = (self.exprs(&s.keys), self.exprs(&s.values));
                Expr::Map(Spanned::new(Map { keys, values }, span))
            }
        }
    }

    /// Records the filter or test that a filter names, as in map('trim'), select('string') and
    /// selectattr('role', 'equalto', 'user').
    fn named_filter(&mut self, s: &Spanned<Filter<'a>>) {
        self.uses(Use::Filter, s.name, s.span());
        let (what, at) = match s.name {
            "map" => (Use::Filter, 0),
            "select" | "reject" => (Use::Test, 0),
            "selectattr" | "rejectattr" => (Use::Test, 1),
            _ => return,
        };
        if let Some(CallArg::Pos(given)) = s.args.get(at) {
            text(given).into_iter().for_each(|name| self.uses(what, name, s.span()));
        }
    }

    fn named_test(&mut self, s: &Spanned<Test<'a>>) {
        self.uses(Use::Test, s.name, s.span());
        let asked = match (s.name, &s.expr) {
            ("defined" | "undefined" | "callable", Expr::Var(var)) => Some(var.id),
            ("filter" | "test", other) => text(other),
            _ => None,
        };
        self.known.extend(asked.map(ToOwned::to_owned));
    }
}

fn told(what: Use, name: &str, line: u16) -> String {
    let what = match what {
        Use::Filter => "the filter",
        Use::Test => "the test",
        Use::Function => "the function",
        Use::Method => "the method",
        Use::Variable => "the variable",
        Use::Tag => "the tag",
    };
    format!("{what} '{name}' (template line {line})")
}
