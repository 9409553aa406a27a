"""examples.py PAGE LIBRARY INCLUDE CC CXX ENGINE WORK: checks that the programs of
docs/embedding.md do what the page says."""
import os
import pathlib
import re
import subprocess
import sys


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def main():
    page, library, include, cc, cxx, engine, work = sys.argv[1:]
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    blocks = re.findall(r"^```(c\+\+|c|python)\n(.*?)^```$", pathlib.Path(page).read_text(), re.M | re.S)
    assert [language for language, _ in blocks] == ["c++", "c", "python"], [language for language, _ in blocks]
    link = [library, f"-Wl,-rpath,{os.path.dirname(library)}", "-pthread"]
    for language, text in blocks:
        if language == "python":
            program = work / "example.py"
            source = pathlib.Path(__file__).parents[2] / "python" / "src"
            found = f"import sys\nsys.path.insert(0, {str(source)!r})\nimport ingot\ningot.load_library({library!r})\n"
            program.write_text(found + text)
            printed = run(sys.executable, program, engine)
            assert "Stats(running=0" in printed, printed
            continue
        program = work / ("example.cpp" if language == "c++" else "example.c")
        program.write_text(text)
        compiler = [cxx, "-std=c++20"] if language == "c++" else [cc, "-std=c11"]
        run(*compiler, "-Wall", "-Wno-unused-parameter", "-Werror", "-I", include, program, "-o", program.with_suffix(""), *link)
        printed = run(program.with_suffix(""), engine)
        assert printed.strip(), program
        if language == "c++":
            assert re.search(r"^\d+ new tokens$", printed, re.M), printed


if __name__ == "__main__":
    main()
