"""Who may include whom. The rows are the table of the house: a file includes headers of its own folder or of rows below, never above;
folders in one row never meet. A public header ranks with the folder that implements it."""
import os
import re

TITLE = "includes go downward"

# Highest row first.
ROWS = [
    ["audit", "dryrun"],
    ["report"],
    ["data"],
    ["nn", "optim"],
    ["io"],
    ["op"],
    ["autograd", "copy"],
    ["tensor"],
    ["backend"],
    ["exec"],
    ["device"],
    ["memory", "kernel"],
    ["trace"],
    ["format"],
    ["base"],
]
RANK = {folder: len(ROWS) - i for i, row in enumerate(ROWS) for folder in row}

# Public headers that declare no functions: where they rank.
WITHOUT_FUNCTIONS = {"weft/sys/plan.h": "base"}
ALL_OF_IT = "weft/weft.h"  # includes everything, so only those outside of src/ include it

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<(weft/[^>]+)>)', re.M)
DECLARED = re.compile(r"^WF_API\b[^;{]*?\b(wf_\w+)\s*\(", re.M)
DEFINED = re.compile(r"^(?![\s#/*}])[^;=()]*?\b(wf_[a-z0-9]\w*)\s*\(", re.M)


def owners_of(tree):
    """{header: folder of src/ that implements it}: where most of its functions are defined."""
    defined = {}
    for path in tree.paths(r"^src/.*\.c$"):
        for name in DEFINED.findall(tree.text(path)):
            defined[name] = path.split("/")[1]
    owners = dict(WITHOUT_FUNCTIONS)
    for path in tree.paths(r"^include/weft/.*\.h$"):
        folders = [defined[name] for name in DECLARED.findall(tree.text(path)) if name in defined]
        if folders:
            owners[path.removeprefix("include/")] = max(sorted(set(folders)), key=folders.count)
    return owners


def folder_of(path, owners):
    """The folder of the table that a path of src/ or a public header belongs to; None when there is none."""
    return path.split("/")[1] if path.startswith("src/") else owners.get(path.removeprefix("include/"))


def includes_of(tree, path):
    """(line, written form, path in the tree) of each include that isn't the system's."""
    text = tree.text(path)
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match.group(2):
            yield line, match.group(2), "include/" + match.group(2)
            continue
        written = match.group(1)
        beside = os.path.normpath(os.path.join(os.path.dirname(path), written))
        places = [beside, "src/" + written, "include/" + written, "tests/" + written]
        yield line, written, next((p for p in places if tree.exists(p)), None)


def fault_in_src(path, target, owners):
    """Why a file of src/ or a public header may not include `target`; None when it may."""
    if path.startswith("include/") and not target.startswith("include/"):
        return "a public header includes public headers only"
    if target == "include/" + ALL_OF_IT:
        return "the library's own files include the headers that they need, not weft.h"
    if path == "include/" + ALL_OF_IT:
        return None
    mine, theirs = folder_of(path, owners), folder_of(target, owners)
    for folder, owner in ((mine, path), (theirs, target)):
        if folder not in RANK:
            return f"{owner} belongs to no folder of the table: none of src/ implements it"
    if mine == theirs:
        if mine == "backend" and path.startswith("src/backend/") and target.startswith("src/backend/"):
            if path.split("/")[2] != target.split("/")[2]:
                return "one backend includes another"
        return None
    if RANK[mine] == RANK[theirs]:
        return f"{mine}/ and {theirs}/ stand in one row and never meet"
    if RANK[mine] < RANK[theirs]:
        return f"{mine}/ is below {theirs}/"
    return None


def fault_outside(path, target, owners):
    """The same for programs: they use the public API and their own folder."""
    if target.startswith("src/"):
        return "programs use the public API only"
    if path.startswith("examples/") and target.startswith("include/weft/sys/"):
        return "examples show the API for users, not weft/sys/"
    if not target.startswith("include/") and os.path.dirname(target) != os.path.dirname(path):
        return "a program includes its own folder and public headers only"
    return None


def cycle_from(graph, start, done):
    """A cycle of includes reached from `start`, as a list of paths, or None. Depth first, without recursion."""
    stack, trail = [(start, iter(graph.get(start, ())))], [start]
    while stack:
        node, rest = stack[-1]
        for following in rest:
            if following in trail:
                return trail[trail.index(following):] + [following]
            if following not in done:
                stack.append((following, iter(graph.get(following, ()))))
                trail.append(following)
                break
        else:
            done.add(node)
            stack.pop()
            trail.pop()
    return None


def check(tree):
    graph, owners = {}, owners_of(tree)
    for path in tree.paths(r"^(src|include|tools|examples)/.*\.[ch]$"):
        judge = fault_in_src if path.startswith(("src/", "include/")) else fault_outside
        for line, written, target in includes_of(tree, path):
            if target is None or not tree.exists(target):
                yield path, line, f"{written} doesn't exist"
                continue
            graph.setdefault(path, []).append(target)
            fault = judge(path, target, owners)
            if fault:
                yield path, line, f"includes {written}: {fault}"
    done = set()
    for path in sorted(graph):
        if path not in done:
            cycle = cycle_from(graph, path, done)
            if cycle:
                yield path, 1, "includes itself: " + " -> ".join(cycle)
                done.update(cycle)


def _before(line):
    return lambda text: line + "\n" + text


BROKEN = [
    ("a low folder that includes a high one", {"src/base/log.c": _before('#include "tensor/tensor.h"')}, "base/ is below tensor/"),
    ("folders of one row that meet", {"src/copy/meets.c": "#include <weft/autograd.h>\n"}, "copy/ and autograd/ stand in one row"),
    ("a public header that is too high", {"src/kernel/high.c": "#include <weft/device.h>\n"}, "kernel/ is below device/"),
    ("a public header that shows an internal one", {"include/weft/dtype.h": _before('#include "base/error.h"')}, "public headers only"),
    ("a public header that includes a higher one", {"include/weft/dtype.h": _before("#include <weft/tensor.h>")}, "base/ is below tensor/"),
    (
        "one backend that includes another",
        {"src/backend/null/own.h": "\n", "src/backend/sim/other.c": '#include "backend/null/own.h"\n'},
        "one backend includes another",
    ),
    ("a program that reaches into src/", {"tools/weft/reach.c": '#include "base/error.h"\n'}, "public API only"),
    (
        "a cycle",
        {"src/base/one.h": '#include "base/two.h"\n', "src/base/two.h": '#include "base/one.h"\n'},
        "src/base/one.h -> src/base/two.h -> src/base/one.h",
    ),
    (
        "a header that nothing implements",
        {"include/weft/own.h": "\n", "src/op/own.c": "#include <weft/own.h>\n"},
        "include/weft/own.h belongs to no folder",
    ),
    ("an include that leads nowhere", {"src/base/lost.c": '#include "base/nowhere.h"\n'}, "base/nowhere.h doesn't exist"),
]
