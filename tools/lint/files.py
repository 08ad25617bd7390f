"""What every file of the tree keeps to: it opens by saying what it owns, has a stem of its own, a bearable length, and nothing left over."""
import os
import re

TITLE = "each file says what it owns, is of bearable length and has nothing left over"

LONGEST = 600
SOURCES = r"^(src|include|tools|tests|examples|bench|fuzz)/.*\.([ch]|py|sh)$"
TEXTS = r"(\.([ch]|py|sh|md|def|cmake|awk|in|supp|map|json|txt|html|css|js)|^dev|^\.ci/run|CMakeLists\.txt|Doxyfile|/lint)$"
WRITTEN_BY_RUN = {"weft-report.html", "weft-trace.json"}  # ./dev run in the root
LEFT_OVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
LOCAL_PATH = re.compile(r"(?:^|[\s\"'(=:<])(/(?:work|farm|home|root|opt|tmp)/[A-Za-z]\S*)")


def concept_of(path):
    """Where a source belongs: files of one stem stand in one such place. Kernels of one family are one concept, with ref/."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[:2] == ["src", "kernel"] else os.path.dirname(path)


def check(tree):
    places = {}
    for path in tree.paths(r"^(src|tools)/.*\.[ch]$"):
        stem = os.path.splitext(os.path.basename(path))[0]  # "convert.isa" is another stem than "convert"
        if stem == "main":
            continue  # each program has one
        places.setdefault(stem, {}).setdefault(concept_of(path), path)
    for stem, where in sorted(places.items()):
        if len(where) > 1:
            for path in sorted(where.values())[1:]:
                yield path, 1, f"the stem '{stem}' is taken: {sorted(where.values())[0]}"
    for path in tree.paths(SOURCES):
        lines = tree.lines(path)
        if len(lines) > LONGEST:
            yield path, LONGEST, f"{len(lines)} lines, {LONGEST} at most: one concept a file"
        first = tree.text(path).lstrip()
        if not first.startswith(("/*", "//", "#!", '"""', "# ")):
            yield path, 1, "doesn't open with a comment that says what it owns"
    for path in tree.paths(TEXTS):
        if path in WRITTEN_BY_RUN:
            continue
        text = tree.text(path)
        for number, line in enumerate(text.splitlines(), 1):
            match = LEFT_OVER.search(line)
            if match:
                yield path, number, f"unfinished: {match.group(0)}"
            match = LOCAL_PATH.search(line)
            if match:
                yield path, number, f"a path of one machine: {match.group(1)}"
            if line != line.rstrip():
                yield path, number, "white space at the end of the line"
            if "\t" in line:
                yield path, number, "a tab"
        if text and not text.endswith("\n"):
            yield path, text.count("\n") + 1, "no newline at the end"


def _after(line):
    return lambda text: text + line + "\n"


BROKEN = [
    ("a file that is too long", {"src/base/long.c": "/* Long. */\n" + "int a;\n" * LONGEST}, f"{LONGEST} at most"),
    ("a file without an opening comment", {"src/base/bare.c": "int a;\n"}, "doesn't open with a comment"),
    ("a stem that is taken", {"src/op/log.c": "/* Log. */\n"}, "the stem 'log' is taken"),
    ("unfinished work", {"src/base/log.c": _after("/* TO" "DO: more */")}, "unfinished"),
    ("a path of one machine", {"src/base/log.c": _after('const char *a = "/' 'work/main";')}, "a path of one machine"),
    ("white space at the end of a line", {"src/base/log.c": _after("int a; ")}, "white space"),
    ("a tab", {"src/base/log.c": _after("\tint a;")}, "a tab"),
    ("a missing newline", {"src/base/log.c": "/* Log. */"}, "no newline"),
]
