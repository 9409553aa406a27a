"""install_test.py BUILD CMAKE CC CXX ENGINE WORK: installs the library into an empty prefix, moves the prefix,
and builds and runs another project with it, first by find_package, then by pkg-config."""
import pathlib
import shutil
import subprocess
import sys


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def main():
    build, cmake, cc, cxx, engine, work = sys.argv[1:]
    here, work = pathlib.Path(__file__).parent, pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    run(cmake, "--install", build, "--prefix", work / "first", "--component", "library")
    prefix = work / "second"  # nothing in the prefix may name the first path
    (work / "first").rename(prefix)
    files = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir())
    folder = next(name for name in files if name.endswith("/libingot.so"))[: -len("/libingot.so")]
    for name in ("include/ingot.h", "include/ingot.hpp", f"{folder}/libingot.so.0", f"{folder}/pkgconfig/ingot.pc"):
        assert name in files, files
    assert not any(name.startswith("bin/") for name in files), files

    project = work / "project"
    run(cmake, "-S", here / "consumer", "-B", project, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER={cc}", f"-DCMAKE_CXX_COMPILER={cxx}")
    run(cmake, "--build", project, "-j1")
    answers = {run(project / name, engine) for name in ("in-cpp", "in-c")}
    assert len(answers) == 1 and len(answers.pop()) >= 9

    if shutil.which("pkg-config"):
        flags = run("pkg-config", "--cflags", "--libs", prefix / folder / "pkgconfig/ingot.pc").split()
        # A compiler and standard library other than libingot's, if there is one.
        compiler = shutil.which("g++") or cxx
        run(compiler, "-std=c++20", "-Wall", "-Werror", here / "consumer/main.cpp", "-o", work / "by-pkg-config", *flags,
            f"-Wl,-rpath,{prefix / folder}")
        run(work / "by-pkg-config", engine)
    print("\n".join(files))


if __name__ == "__main__":
    main()
