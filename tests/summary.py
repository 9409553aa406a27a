"""Adds up the results of all parts of `dev test`; prints the failures and, as the last line, "N passed, N failed[, N
skipped]". Exit status 1 if anything failed.

  summary.py FOLDER

FOLDER holds JUnit files (ctest-*.xml, gtest-*/…xml, lit.xml, e2e.xml), steps.tsv (parts that are one
test each: name, exit status) and reported.tsv (parts whose tests are in JUnit files).
"""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


class Tally:
    def __init__(self):
        self.passed, self.skipped, self.failures = 0, 0, []

    def add(self, name, failed, skipped=False):
        if failed:
            self.failures.append(name)
        elif skipped:
            self.skipped += 1
        else:
            self.passed += 1


def cases(path):
    """Yields (name, failed, skipped) of each test case in a JUnit file."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = ".".join(x for x in (case.get("classname"), case.get("name")) if x)
        status = case.get("status", "")
        failed = case.find("failure") is not None or case.find("error") is not None or status == "fail"
        reason = case.find("skipped")
        if reason is not None and (reason.get("message") or "").startswith("Test not selected"):
            continue  # excluded by lit's --filter
        skipped = reason is not None or status in ("notrun", "disabled")
        yield name, failed, skipped


def add_ctest(tally, path, gtest_folder):
    """A GoogleTest program counts by its own cases. If it dies, its report is missing or lacks the failure; then
    the program itself counts as a failed test."""
    for name, failed, skipped in cases(path):
        program = name.split(".")[-1]
        report = (gtest_folder.parent / "gtest-long" if program.endswith("-long") else gtest_folder) / f"{program}.xml"
        own = list(cases(report)) if report.exists() else []
        for case, case_failed, case_skipped in own:
            tally.add(f"{program}: {case}", case_failed, case_skipped)
        if not own or (failed and not any(f for _, f, _ in own)):
            tally.add(program, failed, skipped)


def rows(path):
    return [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []


def main():
    folder = pathlib.Path(sys.argv[1])
    tally = Tally()
    for path in sorted(folder.glob("ctest-*.xml")):
        add_ctest(tally, path, folder / path.stem.replace("ctest-", "gtest-"))
    for path in sorted(folder.glob("*.xml")):
        if not path.name.startswith("ctest-"):
            for case in cases(path):
                tally.add(*case)
    for name, status in rows(folder / "steps.tsv"):
        tally.add(name, status != "0")
    if not tally.failures:  # a part that failed without any failed test
        for name, status in rows(folder / "reported.tsv"):
            if status != "0":
                tally.add(f"{name} (exit status {status}, no test reported it)", True)

    for name in tally.failures:
        print(f"FAILED  {name}")
    line = f"{tally.passed} passed, {len(tally.failures)} failed"
    print(line + (f", {tally.skipped} skipped" if tally.skipped else ""))
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
