"""What the shared libraries show is what the public headers declare, no less and no more; libweft also shows the internals that
libweft-tools uses. Needs the built libweft (--library); libweft-tools is looked for beside it."""
import os
import re
import subprocess
import tempfile

TITLE = "the libraries export what the headers declare"

DECLARED = re.compile(r'__attribute__\(\(visibility\("default"\)\)\)[^;{]*?\b(wf_\w+)\s*\(')
OF_TOOLS = ("include/weft/audit.h", "include/weft/dry.h", "include/weft/dry_report.h", "include/weft/report.h", "include/weft/snapshot.h")  # what libweft-tools implements
VERSIONS = {"WEFT_0", "WEFT_PRIVATE"}
MARKER = re.compile(r'^# \d+ "([^"]+)"')


def declared(tree):
    """{name: header} of all exported functions, as the preprocessor sees them: also those that a macro declares."""
    with tempfile.TemporaryDirectory() as folder:
        headers = tree.paths(r"^include/weft/.*\.h$")
        for path in headers:
            copy = os.path.join(folder, path)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            with open(copy, "w", encoding="utf-8") as file:
                file.write(tree.text(path))
        names = {}
        for path in headers:
            compiler = os.environ.get("CC", "cc")
            command = [compiler, "-E", "-I", os.path.join(folder, "include"), os.path.join(folder, path)]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            own, inside = [], False
            for line in text.splitlines():
                marker = MARKER.match(line)
                if marker:
                    inside = marker.group(1).endswith(path)
                elif inside:
                    own.append(line)
            for name in DECLARED.findall("\n".join(own)):
                names[name] = path
    return names


def symbols(library, which):
    if not os.path.exists(library):
        return set()
    text = subprocess.run(["nm", "-D", which, library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines()} - VERSIONS


def check(tree):
    names = declared(tree)
    weft = tree.built_library
    tools = os.path.join(os.path.dirname(weft), "libweft-tools.so")
    of_weft = {name: path for name, path in names.items() if path not in OF_TOOLS}
    of_weft.update((name, "cmake/weft.map") for name in symbols(tools, "--undefined-only") if name.startswith("wf__"))
    of_tools = {name: path for name, path in names.items() if path in OF_TOOLS}
    for library, own in ((weft, of_weft), (tools, of_tools)):
        shown = symbols(library, "--defined-only")
        for name in sorted(set(own) - shown):
            yield own[name], 1, f"{name} is declared, but {os.path.basename(library)} doesn't export it"
        for name in sorted(shown - set(own)):
            what = "libweft-tools doesn't use" if name.startswith("wf__") else "no public header declares"
            yield os.path.basename(library), 1, f"exports {name}, which {what}"


def _before_end(line):
    return lambda text: text.replace("WF_EXTERN_C_END", line + "\nWF_EXTERN_C_END", 1)


BROKEN = [
    (
        "a function that is declared only",
        {"include/weft/tensor.h": _before_end("WF_API int wf_nowhere(void);")},
        "wf_nowhere is declared, but",
    ),
    (
        "a function that no header declares",
        {"include/weft/base.h": lambda t: t.replace("WF_API const char *wf_version(void);", "")},
        "exports wf_version, which",
    ),
]
