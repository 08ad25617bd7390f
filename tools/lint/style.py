"""C sources are formatted by .clang-format. Versions of clang-format differ in small ways, so only the one that CI has is asked."""
import re
import shutil
import subprocess

TITLE = "C sources are formatted (./dev format)"

VERSION = "14"
SOURCES = r"^(src|include|tools|tests|examples|bench|fuzz)/.*\.[ch]$"


def formatter():
    """The program, or None where that version isn't installed."""
    for name in (f"clang-format-{VERSION}", "clang-format"):
        if shutil.which(name):
            text = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
            if re.search(rf"version {VERSION}\.", text):
                return name
    return None


def run(program, root, path, text):
    """The text as it should be."""
    command = [program, f"--assume-filename={path}"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=root).stdout


def faults(tree, program, paths):
    for path in paths:
        text = tree.text(path)
        wanted = run(program, tree.root, path, text)
        if wanted != text:
            lines, other = text.splitlines(), wanted.splitlines()
            number = next((i for i, (a, b) in enumerate(zip(lines, other), 1) if a != b), min(len(lines), len(other)) + 1)
            yield path, number, "isn't formatted"


def check(tree):
    program = formatter()
    if program:
        # A self-test's copy differs from the tree on disk in its overlay only.
        yield from faults(tree, program, [p for p in tree.overlay if re.search(SOURCES, p)] or tree.paths(SOURCES))


def fix(tree):
    program = formatter()
    if not program:
        raise SystemExit(f"clang-format {VERSION} isn't installed")
    subprocess.run([program, "-i", *tree.paths(SOURCES)], check=True, cwd=tree.root)
    tree.forget()


BROKEN = [("a line that isn't formatted", {"src/base/log.c": lambda text: text + "int   a;\n"}, "isn't formatted")] if formatter() else []
