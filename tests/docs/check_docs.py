"""Checks the documents against the tree and the program: links resolve, lines fit, options exist, the numbered
constraints of dialects/SPEC.md are those that the verifiers cite, and neither documents nor comments use the words in
words.txt, for which the field has an established term.

  check_docs.py --source FOLDER [--ingot PROGRAM]      checks; exit status 1 and a line for each mistake
  check_docs.py --source FOLDER --wrap                 rewraps long lines of prose
"""
import argparse
import io
import pathlib
import re
import subprocess
import sys
import tokenize
import unicodedata

MOST = 120  # characters per line, newline included: editors and diffs show that many

HINTS = {"prose": "check_docs.py --wrap mends prose", "table": "shorten the cells or make it a list", "fence": "break it"}

# Pages whose long lines have not been wrapped yet.
LONG = set()

# Options of other programs that the documents mention.
FOREIGN = {
    "cmake, ctest, lit, gdb": "--build --component --install --prefix --strip --preset --target --test-dir --filter --args",
    "GoogleTest": "--gtest_filter --gtest_list_tests",
    "ingot-opt, ingot-reduce, LLVM": "--obj --pdll-compilation-database --pdll-extra-dir --reduction-tree --ingot-fuse --ingot-lower --load-pass-plugin --mlir-disable-threading --mlir-pass-pipeline-crash-reproducer "
        "--mlir-pass-pipeline-local-reproducer --mlir-print-ir-after-all --mlir-print-ir-after-change --mlir-timing --pass-pipeline "
        "--run-reproducer",
    "gguf-new-metadata": "--pre-tokenizer",
    "matmul-bench": "--mb --schedule",
    "llama-gguf-split": "--split",
    "nvcc": "--fmad --std",
    "docker, helm, kubectl, openssl": "--from-literal --read-only --set --strict --tmpfs --variant",
    "tar": "--zstd",
    "lm-eval, guidellm, aiperf, vLLM's bench": "--backend --concurrency --constraint --data --endpoint-type --extra-inputs "
        "--model_args --output-tokens-mean --profile --request-count --server-metrics --streaming --synthetic-input-tokens-mean --tasks --tokenizer "
        "--url --use-server-token-count",
}


def documents(source):
    return [source / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")] + sorted((source / "docs").rglob("*.md"))


class Document:
    """The lines of a Markdown file, each with its kind."""

    def __init__(self, path, text=None):
        self.path, self.lines = path, (path.read_text() if text is None else text).split("\n")
        self.kinds = []
        fence = made = False
        for line in self.lines:
            if line.startswith(("<!-- dev bench", "<!-- dev docs")):  # written by ./dev bench --write-docs, ./dev docs --write
                made = ": end" not in line
            border = line.lstrip().startswith("```")
            fence ^= border
            self.kinds.append("made" if made else "fence" if fence or border else "table" if line.startswith("|") else "prose")

    def anchors(self):
        """The anchors that GitHub makes from headings."""
        found = set()
        for line, kind in zip(self.lines, self.kinds):
            if kind == "prose" and (heading := re.match(r"#+ (.*)", line)):
                text = re.sub(r"[*`]|\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
                found.add("".join(c for c in text if c in " -_" or unicodedata.category(c)[0] in "LN").replace(" ", "-"))
        return found


def broken_links(document, source):
    for number, (line, kind) in enumerate(zip(document.lines, document.kinds), 1):
        if kind == "fence":
            continue
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            aim = (document.path.parent / path).resolve() if path else document.path
            if not aim.exists():
                yield number, f"the link {target} leads nowhere"
            elif anchor and aim.suffix == ".md" and anchor not in Document(aim).anchors():
                yield number, f"{aim.relative_to(source)} has no heading #{anchor}"


def long_lines(document):
    for number, (line, kind) in enumerate(zip(document.lines, document.kinds), 1):
        if kind != "made" and len(line) >= MOST:
            yield number, f"{len(line)} characters; {MOST - 1} fit ({HINTS[kind]})"


# ------------------------------------------------------------- options

def help_of(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9_-]*", text))


def of_scripts(source):
    """The options of the repository's own scripts, and undocumented options of `ingot`."""
    text = ""
    for pattern in ("dev", "tests/**/*.py", "tests/**/*.sh", "tests/**/*.c", "tools/**/*.cpp"):
        text += "".join(path.read_text() for path in source.glob(pattern))
    return set(re.findall(r"""["'( |](--[a-z][a-z0-9-]*)(?=["') |=,])""", text))


def known_options(source, ingot):
    """Command -> its options; "" holds those of `ingot` itself, ./dev and the scripts."""
    overview = help_of(ingot, "help")
    commands = re.findall(r"^  ([a-z][a-z-]+) +\S", overview, re.M)
    known = {command: options_in(help_of(ingot, command, "--help")) | {"--help"} for command in commands if command != "ingot"}
    known[""] = options_in(overview) | of_scripts(source)
    return known


def strange_options(document, known):
    everything = set().union(*known.values()) | {option for options in FOREIGN.values() for option in options.split()}
    theirs = False
    for number, (line, kind) in enumerate(zip(document.lines, document.kinds), 1):
        if kind == "table":
            theirs = theirs if document.kinds[number - 2] == "table" else line.startswith(("| there |", "| `trtllm-build`"))
            line = line.split("|", 2)[2] if theirs else line  # the left column is TensorRT-LLM's
        codes = [line] if kind == "fence" else re.findall(r"`([^`]+)`", line)
        for code in codes:
            called = re.match(r"\$? *(?:\S*/)?ingot ([a-z][a-z-]*)\b", code)
            allowed = known.get(called[1]) if called else None
            for option in sorted(options_in(re.split(r"  #|\s{3,}", code)[0] if called else code)):
                if allowed is not None and option not in allowed:
                    yield number, f"`ingot {called[1]}` has no option {option}"
                elif allowed is None and option not in everything:
                    yield number, f"no command has an option {option}"


# ------------------------------------------------------------- the specification

def specification(source):
    """Constraints that appear on only one side."""
    page = source / "dialects" / "SPEC.md"
    written = {name: number for number, line in enumerate(page.read_text().split("\n"), 1) for name in re.findall(r"\*\*(\w+_c\d+)\*\*", line)}
    code = "".join(path.read_text() for path in sorted((source / "dialects").rglob("*")) if path.suffix in (".cpp", ".h", ".td"))
    cited = set(re.findall(r"\b([a-z]\w*_c\d+)\b", code))
    for name in sorted(written.keys() - cited):
        yield f"{page.relative_to(source)}:{written[name]}: no verifier cites {name}"
    for name in sorted(cited - written.keys()):
        yield f"{page.relative_to(source)}: {name}, which a verifier cites, does not stand here"


# ------------------------------------------------------------- words

SLASHES = (".c", ".cpp", ".cu", ".cuh", ".fbs", ".h", ".hpp", ".js", ".pdll", ".rs", ".td", ".ts", ".tsx")
HASHES = (".cmake", ".sh", ".toml", ".yaml", ".yml", "CMakeLists.txt", "dev")
IN_SLASHES = re.compile(r"""(//[^\n]*|/\*.*?\*/)|R"([^()\s\\]*)\(.*?\)\2"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)'""", re.S)
GAP = r"\s+(?:(?://[/!]?<?|#|\*)\s+)?"  # between two words of a comment
IN_HASHES = re.compile(r"""(?m)(?:^|\s)(#[^\n]*)|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")


def python_comments(text):
    """Comments and docstrings: (line, text)."""
    begins = True  # of a statement
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or token.type == tokenize.STRING and begins:
            yield token.start[0], token.string
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def comments(path, text):
    if path.endswith(".py"):
        yield from python_comments(text)
        return
    begin = end = 0  # of the comment lines that follow one another
    for found in (IN_SLASHES if path.endswith(SLASHES) else IN_HASHES).finditer(text):
        if found[1]:
            if text[end:found.start(1)].strip(" ") != "\n":
                if end:
                    yield text.count("\n", 0, begin) + 1, text[begin:end]
                begin = found.start(1)
            end = found.end(1)
    if end:
        yield text.count("\n", 0, begin) + 1, text[begin:end]


def prose(path, text):
    """The text written for people: (first line, text). Code in backquotes is blanked."""
    blank = lambda part: re.sub(r"`[^`\n]*`", lambda code: " " * len(code[0]), part)
    if path.endswith(".md"):
        document = Document(None, text)
        yield 1, "\n".join("" if kind == "fence" else blank(line) for line, kind in zip(document.lines, document.kinds))
    else:
        for number, comment in comments(path, text):
            yield number, blank(comment)


def banned_words(page):
    """Lines of words.txt: a regular expression of whole words, a tab, and the word to use."""
    lines = [line.split("\t") for line in page.read_text().split("\n") if line and not line.startswith("#")]
    assert all(len(line) == 2 for line in lines), f"{page}: a line is a word, a tab and the word to use"
    return [(re.compile(rf"\b(?:{word})\b".replace(" ", GAP)), use) for word, use in lines]


def wrong_words(source):
    words = banned_words(pathlib.Path(__file__).with_name("words.txt"))
    any_of = re.compile("|".join(word.pattern for word, _ in words))
    tracked = subprocess.run(["git", "-C", source, "ls-files"], capture_output=True, text=True).stdout  # none in a tarball
    for path in tracked.split("\n"):
        if not path.endswith((".md", ".py", *SLASHES, *HASHES)) or not (source / path).is_file():
            continue
        text = (source / path).read_text(errors="replace")
        if any_of.search(text):
            for first, part in prose(path, text):
                for word, use in words:
                    for found in word.finditer(part):
                        line = first + part.count("\n", 0, found.start())
                        yield f"{path}:{line}: write '{use}', not '{' '.join(found[0].split())}' (tests/docs/words.txt)"


def test_words():
    """The check finds a word in each kind of comment, over the end of a line, and not in code."""
    rules = [(re.compile(rf"\bslow{GAP}machine\b"), "")]
    for path, text in (("a.cpp", 'int x; // a slow\n// machine\n'), ("a.h", "/* slow machine */"), ("a.py", '"""A slow machine."""\n'),
                       ("a.py", "x = 1  # slow machine\n"), ("CMakeLists.txt", "set(x) # slow machine"), ("a.md", "a slow machine")):
        assert any(word.search(part) for _, part in prose(path, text) for word, _ in rules), (path, text)
    for path, text in (("a.cpp", 'f("// slow machine"); // `slow machine`\n'), ("a.py", 'x = "slow machine"\n'), ("a.md", "`slow machine`"),
                       ("a.md", "```\nslow machine\n```")):
        assert not any(word.search(part) for _, part in prose(path, text) for word, _ in rules), (path, text)


# ------------------------------------------------------------- wrapping

def wrapped(first, rest, words):
    """Wraps words, but never inside `code` or a [link](…)."""
    lines, current, empty = [], first, True
    for word in re.findall(r"(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|[^\s`\[]|\[|`)+", words):
        if not empty and len(current) + 1 + len(word) >= MOST:
            lines.append(current)
            current, empty = rest, True
        current, empty = current + ("" if empty else " ") + word, False
    return lines + [current]


def rewrapped(document):
    out, paragraph = [], []

    def flush():
        if any(len(line) >= MOST for line in paragraph):
            head = re.match(r"\s*(?:(?:[-*]|\d+\.)\s+)?", paragraph[0])[0]
            words = " ".join([paragraph[0][len(head):], *(line.strip() for line in paragraph[1:])])
            out.extend(wrapped(head, " " * len(head), words))
        else:
            out.extend(paragraph)
        paragraph.clear()

    for line, kind in zip(document.lines, document.kinds):
        if kind != "prose" or not line.strip() or line.lstrip().startswith(("#", "<", ">", "![")):
            flush()
            out.append(line)
            continue
        if re.match(r"\s*([-*]|\d+\.)\s+", line):
            flush()
        paragraph.append(line)
    flush()
    assert " ".join(out).split() == " ".join(document.lines).split(), f"{document.path}: a word would be lost"
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, type=pathlib.Path)
    parser.add_argument("--ingot")
    parser.add_argument("--wrap", action="store_true")
    options = parser.parse_args()
    source = options.source.resolve()
    known = known_options(source, options.ingot) if options.ingot else None
    mistakes = 0
    for document in map(Document, documents(source)):
        if options.wrap:
            document.path.write_text("\n".join(rewrapped(document)))
            continue
        found = [*broken_links(document, source), *(() if document.path.name in LONG else long_lines(document)), *(strange_options(document, known) if known else ())]
        for number, mistake in sorted(found):
            print(f"{document.path.relative_to(source)}:{number}: {mistake}")
        mistakes += len(found)
    test_words()
    for mistake in (*specification(source), *(() if options.wrap else wrong_words(source))):
        print(mistake)
        mistakes += 1
    print(f"{mistakes} mistakes in {len(documents(source))} documents")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
