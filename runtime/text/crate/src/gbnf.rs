//! Translates llama.cpp's grammars (GBNF) into Lark.
//!
//! The library has a lexer, but GBNF does not: all its rules are over characters. A rule that is not
//! recursive is regular and becomes a single terminal. In other rules, adjacent regular parts are joined.
//! The lexer therefore never has to choose between terminals where the grammar means characters:
//!
//!   root ::= "(" ws root ")" | [a-z]+        start: R0
//!   ws   ::= [ \t]*                          R0: T0 R0 T1 | T2      T0: "(" ws
//!
//! llama.cpp's grammars/README.md describes the syntax. Tokens are written `<name>` and `<[id]>`.

use crate::grammar::lark_string;
use std::collections::HashMap;

enum Node {
    Literal(String),
    /// A character class, as a regex.
    Class(String),
    Token(String),
    Rule(usize),
    Group(Vec<Vec<Node>>),
    Repeat(Box<Node>, u32, Option<u32>),
}

/// The largest count of a repetition. The library also rejects larger counts, but some of them only late.
const MOST_REPEATS: u32 = 100_000;

struct Parser<'a> {
    source: &'a str,
    at: usize,
    names: HashMap<String, usize>,
    rules: Vec<Option<Vec<Vec<Node>>>>,
    used_at: Vec<(String, usize)>,
}

type Outcome<T> = Result<T, String>;

impl<'a> Parser<'a> {
    fn fail<T>(&self, at: usize, what: &str) -> Outcome<T> {
        let before = &self.source[..at.min(self.source.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Err(format!("line {line}, column {column}: {what}"))
    }

    fn peek(&self) -> Option<char> {
        self.source[self.at..].chars().next()
    }

    fn take(&mut self) -> Outcome<char> {
        match self.peek() {
            Some(c) => {
                self.at += c.len_utf8();
                Ok(c)
            }
            None => self.fail(self.at, "the grammar ends too early"),
        }
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.source[self.at..].starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// Skips blanks and comments. Skips newlines only with `lines`, if the rule may continue on the next line.
    fn space(&mut self, lines: bool) {
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => self.at += 1,
                '\n' | '\r' if lines => self.at += 1,
                '#' => self.at += self.source[self.at..].find('\n').unwrap_or(self.source.len() - self.at),
                _ => return,
            }
        }
    }

    fn name(&mut self) -> Outcome<String> {
        let rest = &self.source[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(rest.len());
        if end == 0 {
            return self.fail(self.at, "expected a name");
        }
        self.at += end;
        Ok(rest[..end].to_owned())
    }

    fn rule(&mut self, name: String, at: usize) -> usize {
        let next = self.rules.len();
        let index = *self.names.entry(name.clone()).or_insert(next);
        if index == next {
            self.rules.push(None);
            self.used_at.push((name, at));
        }
        index
    }

    fn hex(&mut self, digits: usize) -> Outcome<char> {
        let start = self.at;
        let text: String = self.source[start..].chars().take(digits).collect();
        let value = u32::from_str_radix(&text, 16).ok().filter(|_| text.len() == digits && !text.starts_with('+'));
        match value.and_then(char::from_u32) {
            Some(c) => {
                self.at += digits;
                Ok(c)
            }
            None => self.fail(start, "not a character in hexadecimal"),
        }
    }

    fn character(&mut self) -> Outcome<char> {
        let start = self.at;
        match self.take()? {
            '\\' => match self.take()? {
                'n' => Ok('\n'),
                'r' => Ok('\r'),
                't' => Ok('\t'),
                'x' => self.hex(2),
                'u' => self.hex(4),
                'U' => self.hex(8),
                c @ ('"' | '[' | ']' | '\\' | '-' | '^' | '/') => Ok(c),
                c => self.fail(start, &format!("unknown escape \\{c}")),
            },
            c => Ok(c),
        }
    }

    fn class(&mut self) -> Outcome<Node> {
        let start = self.at - 1;
        let mut text = String::from(if self.eat("^") { "[^" } else { "[" });
        let mut members = 0;
        while !self.eat("]") {
            let low = self.character()?;
            let ranged = self.source[self.at..].starts_with('-') && !self.source[self.at..].starts_with("-]");
            let high = if ranged {
                self.at += 1;
                self.character()?
            } else {
                low
            };
            if high < low {
                return self.fail(start, &format!("the range {low}-{high} is empty"));
            }
            text += &format!("\\x{{{:x}}}-\\x{{{:x}}}", low as u32, high as u32);
            members += 1;
        }
        match (members, text.as_str()) {
            (0, "[^") => Ok(Node::Class("(?s:.)".into())),
            (0, _) => self.fail(start, "an empty class matches nothing"),
            _ => Ok(Node::Class(text + "]")),
        }
    }

    fn count(&mut self) -> Outcome<Option<u32>> {
        let start = self.at;
        let digits: String = self.source[start..].chars().take_while(char::is_ascii_digit).collect();
        self.at += digits.len();
        match digits.parse::<u32>() {
            _ if digits.is_empty() => Ok(None),
            Ok(count) if count <= MOST_REPEATS => Ok(Some(count)),
            _ => self.fail(start, &format!("{digits} repetitions, at most {MOST_REPEATS} are allowed")),
        }
    }

    fn repeated(&mut self, node: Node) -> Outcome<Node> {
        let start = self.at;
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.at += 1;
                self.space(false);
                let least = self.count()?;
                self.space(false);
                let most = if self.eat(",") {
                    self.space(false);
                    self.count()?
                } else {
                    least
                };
                self.space(false);
                if self.peek() != Some('}') || (least.is_none() && most.is_none()) {
                    return self.fail(start, "expected {n}, {n,} or {n,m}");
                }
                (least.unwrap_or(0), most)
            }
            _ => return Ok(node),
        };
        self.at += 1;
        if most.is_some_and(|most| most < least) {
            return self.fail(start, "too many repetitions");
        }
        self.repeated(Node::Repeat(Box::new(node), least, most))
    }

    fn sequence(&mut self, nested: bool) -> Outcome<Vec<Node>> {
        let mut nodes = Vec::new();
        loop {
            self.space(nested);
            let start = self.at;
            let node = match self.peek() {
                Some('"') => {
                    self.at += 1;
                    let mut text = String::new();
                    while !self.eat("\"") {
                        text.push(self.character()?);
                    }
                    Node::Literal(text)
                }
                Some('[') => {
                    self.at += 1;
                    self.class()?
                }
                Some('.') => {
                    self.at += 1;
                    Node::Class("(?s:.)".into())
                }
                Some('(') => {
                    self.at += 1;
                    let inner = self.alternatives(true)?;
                    if !self.eat(")") {
                        return self.fail(self.at, "expected ')'");
                    }
                    Node::Group(inner)
                }
                Some('<') => {
                    let rest = &self.source[start..];
                    let end = rest.find(|c: char| c == '>' || c.is_whitespace()).unwrap_or(rest.len());
                    if !rest[end..].starts_with('>') {
                        return self.fail(start, "expected a token: <name> or <[id]>");
                    }
                    self.at += end + 1;
                    Node::Token(rest[..=end].to_owned())
                }
                Some('!') => return self.fail(start, "excluded tokens (!<…>) are not supported"),
                Some(c) if c.is_ascii_alphanumeric() => {
                    let name = self.name()?;
                    let after = self.at;
                    self.space(false);
                    if self.source[self.at..].starts_with("::=") && !nested {
                        return self.fail(start, "a rule must start on a new line");
                    }
                    self.at = after;
                    Node::Rule(self.rule(name, start))
                }
                _ => return Ok(nodes),
            };
            nodes.push(self.repeated(node)?);
        }
    }

    fn alternatives(&mut self, nested: bool) -> Outcome<Vec<Vec<Node>>> {
        let mut all = vec![self.sequence(nested)?];
        while self.eat("|") {
            self.space(true);
            all.push(self.sequence(nested)?);
        }
        Ok(all)
    }

    fn grammar(&mut self) -> Outcome<()> {
        self.space(true);
        while self.peek().is_some() {
            let start = self.at;
            let name = self.name()?;
            self.space(false);
            if !self.eat("::=") {
                return self.fail(self.at, &format!("expected ::= after {name}"));
            }
            self.space(true);
            let index = self.rule(name.clone(), start);
            let alternatives = self.alternatives(false)?;
            if self.rules[index].replace(alternatives).is_some() {
                return self.fail(start, &format!("duplicate rule {name}"));
            }
            if !matches!(self.peek(), None | Some('\n' | '\r')) {
                return self.fail(self.at, "expected the end of the rule");
            }
            self.space(true);
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    Open,
    Regular,
    Recursive,
}

struct Writer {
    rules: Vec<Vec<Vec<Node>>>,
    marks: Vec<Mark>,
    out: String,
    terminals: usize,
}

impl Writer {
    fn regular(&mut self, nodes: &[Node]) -> bool {
        let mut all = true; // do not stop early, because every referenced rule must be marked
        for node in nodes {
            all &= match node {
                Node::Literal(_) | Node::Class(_) => true,
                Node::Token(_) => false,
                Node::Rule(index) => self.regular_rule(*index),
                Node::Group(alternatives) => alternatives.iter().fold(true, |all, a| self.regular(a) && all),
                Node::Repeat(node, ..) => self.regular(std::slice::from_ref(node)),
            };
        }
        all
    }

    /// Returns whether no rule that is reachable from this one is recursive.
    fn regular_rule(&mut self, index: usize) -> bool {
        match self.marks[index] {
            Mark::Regular => return true,
            Mark::Recursive | Mark::Open => return false,
            Mark::New => self.marks[index] = Mark::Open,
        }
        let body = std::mem::take(&mut self.rules[index]);
        let regular = body.iter().fold(true, |all, alternative| self.regular(alternative) && all);
        self.rules[index] = body;
        self.marks[index] = if regular { Mark::Regular } else { Mark::Recursive };
        regular
    }

    fn terminal_node(&self, node: &Node) -> String {
        match node {
            Node::Literal(text) => lark_string(text),
            Node::Class(regex) => format!("/{regex}/"),
            Node::Token(name) => name.clone(),
            Node::Rule(index) => format!("T{index}"),
            Node::Group(alternatives) => self.terminal(alternatives),
            Node::Repeat(node, least, most) => repeat(&self.terminal_node(node), *least, *most),
        }
    }

    fn terminal(&self, alternatives: &[Vec<Node>]) -> String {
        let all: Vec<String> = alternatives
            .iter()
            .map(|nodes| match nodes.as_slice() {
                [] => "\"\"".to_owned(),
                nodes => nodes.iter().map(|node| self.terminal_node(node)).collect::<Vec<_>>().join(" "),
            })
            .collect();
        format!("({})", all.join(" | "))
    }

    fn sequence(&mut self, nodes: &[Node]) -> String {
        let mut parts = Vec::new();
        let mut at = 0;
        while at < nodes.len() {
            let run = nodes[at..].iter().take_while(|node| self.regular(std::slice::from_ref(node))).count();
            if run > 0 {
                let joined = nodes[at..at + run].iter().map(|n| self.terminal_node(n)).collect::<Vec<_>>().join(" ");
                self.out += &format!("J{}: {joined}\n", self.terminals);
                parts.push(format!("J{}", self.terminals));
                self.terminals += 1;
                at += run;
                continue;
            }
            parts.push(match &nodes[at] {
                Node::Rule(index) => format!("r{index}"),
                Node::Token(name) => name.clone(),
                Node::Group(alternatives) => self.rule(alternatives),
                Node::Repeat(node, least, most) => repeat(&self.sequence(std::slice::from_ref(node)), *least, *most),
                Node::Literal(_) | Node::Class(_) => String::new(), // these are regular and were handled above
            });
            at += 1;
        }
        if parts.is_empty() {
            return "\"\"".to_owned();
        }
        parts.join(" ")
    }

    fn rule(&mut self, alternatives: &[Vec<Node>]) -> String {
        let all: Vec<String> = alternatives.iter().map(|nodes| self.sequence(nodes)).collect();
        format!("({})", all.join(" | "))
    }
}

fn repeat(of: &str, least: u32, most: Option<u32>) -> String {
    match (least, most) {
        (0, None) => format!("({of})*"),
        (1, None) => format!("({of})+"),
        (0, Some(1)) => format!("({of})?"),
        (least, Some(most)) => format!("({of}){{{least},{most}}}"),
        (least, None) => format!("({of}){{{least},}}"),
    }
}

pub fn to_lark(source: &str) -> Result<String, String> {
    let mut parser = Parser { source, at: 0, names: HashMap::new(), rules: Vec::new(), used_at: Vec::new() };
    parser.grammar()?;
    let Some(&root) = parser.names.get("root") else {
        return Err("there is no rule root".into());
    };
    if let Some(missing) = parser.rules.iter().position(Option::is_none) {
        let (name, at) = &parser.used_at[missing];
        return parser.fail(*at, &format!("there is no rule {name}"));
    }
    let rules: Vec<_> = parser.rules.into_iter().flatten().collect();
    let mut writer = Writer { marks: vec![Mark::New; rules.len()], rules, out: String::new(), terminals: 0 };
    for index in 0..writer.rules.len() {
        writer.regular_rule(index);
    }
    for index in 0..writer.rules.len() {
        let body = std::mem::take(&mut writer.rules[index]);
        let line = match writer.marks[index] {
            Mark::Regular => format!("T{index}: {}\n", writer.terminal(&body)),
            _ => format!("r{index}: {}\n", writer.rule(&body)),
        };
        writer.out += &line;
    }
    let start = if writer.marks[root] == Mark::Regular { "T" } else { "r" };
    Ok(format!("start: {start}{root}\n{}", writer.out))
}
