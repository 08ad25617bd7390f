"""Calls that don't belong into src/: the library never ends the process, never prints, takes its own memory in one place only, and writes
no buffer without knowing its size."""
import re

from tree import code_only

TITLE = "src/ calls nothing that is banned"

ENDS = "the library never ends the process: set the error record"
PRINTS = "the library never prints: base/log.h sends messages to the callback"
MEMORY = "memory of the library comes from base/host.h, so that faults can be injected"
BOUNDLESS = "doesn't know the size of what it writes: snprintf, memcpy with a checked length"
BANNED = {
    **dict.fromkeys("abort exit _exit _Exit quick_exit assert raise".split(), ENDS),
    **dict.fromkeys("printf vprintf puts putchar perror dprintf vdprintf psignal".split(), PRINTS),
    **dict.fromkeys("malloc calloc realloc reallocarray free strdup strndup asprintf vasprintf aligned_alloc posix_memalign memalign".split(), MEMORY),
    **dict.fromkeys("sprintf vsprintf strcpy strcat stpcpy gets strncpy strncat alloca".split(), BOUNDLESS),
    **dict.fromkeys("strtok localtime gmtime ctime asctime rand srand setenv putenv".split(), "isn't safe with threads"),
}
STREAMS = re.compile(r"\b(stdout|stderr)\b")
CALL = re.compile(r"(?<![\w.>])(" + "|".join(sorted(BANNED)) + r")\s*\(")
THREADS = re.compile(r"^\s*#\s*pragma\s+omp\s+(?!simd\b|declare\s+simd\b)")

# What is right all the same. Each entry is used, or it is a fault itself.
ALLOWED = {
    ("src/base/host.c", "malloc"): "the one place",
    ("src/base/host.c", "calloc"): "the one place",
    ("src/base/host.c", "realloc"): "the one place",
    ("src/base/host.c", "free"): "the one place",
    ("src/base/error.c", "calloc"): "wf__calloc reports its failures here",
    ("src/base/error.c", "free"): "what this file allocated",
    ("src/exec/blas.c", "setenv"): "in a constructor, before there are threads; undone at once",
    ("src/dryrun/fatal_signals.c", "_exit"): "the stand-in's own, in the place of the C library's",
    ("src/dryrun/fatal_signals.c", "_Exit"): "likewise",
    ("src/base/log.c", "dprintf"): "to stderr when WEFT_LOG=stderr asks for it",
}


def check(tree):
    used = set()
    for path in tree.paths(r"^src/.*\.[ch]$"):
        in_exec = path.startswith("src/exec/")
        for number, line in enumerate(code_only(tree.text(path)).splitlines(), 1):
            for match in CALL.finditer(line):
                name = match.group(1)
                if (path, name) in ALLOWED:
                    used.add((path, name))
                else:
                    yield path, number, f"{name}(): {BANNED[name]}"
            for match in STREAMS.finditer(line):
                yield path, number, f"{match.group(1)}: {PRINTS}"
            if THREADS.match(line) and not in_exec:
                yield path, number, "threads are OpenMP's and are used in exec/ only"
    for path, name in sorted(ALLOWED):
        if (path, name) not in used:
            yield "tools/lint/banned.py", 1, f"{path} doesn't call {name}() any more: take its entry out of ALLOWED"


def _after(line):
    return lambda text: text + line + "\n"


BROKEN = [
    ("abort", {"src/base/log.c": _after("void f(void) { abort(); }")}, "abort(): the library never ends"),
    ("assert", {"src/base/log.c": _after("void f(int a) { assert(a); }")}, "assert(): the library never ends"),
    ("printf", {"src/base/log.c": _after('void f(void) { printf("a"); }')}, "printf(): the library never prints"),
    ("stderr", {"src/base/log.c": _after("void f(void) { fflush(stderr); }")}, "stderr: the library never prints"),
    ("malloc outside of base/host.c", {"src/base/log.c": _after("void *f(void) { return malloc (1); }")}, "malloc(): memory"),
    ("sprintf", {"src/base/log.c": _after('void f(char *a) { sprintf(a, "b"); }')}, "sprintf(): doesn't know"),
    ("threads outside of exec/", {"src/base/log.c": _after("#pragma omp parallel for")}, "used in exec/ only"),
    ("an exception that isn't needed any more", {"src/base/log.c": "\n"}, "take its entry out of ALLOWED"),
]
