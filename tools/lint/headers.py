"""Public headers: each function and type is documented where it stands."""
import re

TITLE = "each public declaration has its comment"

DECLARATION = re.compile(r"^WF_API\b[^;{]*?\b(wf_\w+)\s*\(")
TYPE = re.compile(r"^typedef (?:struct|enum) (wf_\w+) \{")
GUARD = re.compile(r"#ifndef (\w+)\n#define (\w+)\n")


def check(tree):
    for path in tree.paths(r"^include/weft/.*\.h$"):
        lines = tree.lines(path)
        for index, line in enumerate(lines):
            match = TYPE.match(line)
            if line.startswith("WF_API"):
                match = DECLARATION.match(" ".join(lines[index : index + 3]))
            if match and not lines[index - 1].rstrip().endswith("*/"):
                yield path, index + 1, f"{match.group(1)} has no comment"
            elif match and not comment_is_documentation(lines, index - 1):
                yield path, index + 1, f"the comment of {match.group(1)} doesn't begin with /**"
        guard = GUARD.search(tree.text(path))
        expected = re.sub(r"\W", "_", path.removeprefix("include/")).upper()
        if not guard or guard.group(1) != expected or guard.group(2) != expected:
            yield path, 1, f"the include guard isn't {expected}"


def comment_is_documentation(lines, last):
    """Whether the comment that ends on line `last` is one that Doxygen reads."""
    for index in range(last, -1, -1):
        if "/*" in lines[index]:
            return lines[index].lstrip().startswith("/**")
    return False


def _before_end(line):
    return lambda text: text.replace("WF_EXTERN_C_END", line + "\nWF_EXTERN_C_END", 1)


BROKEN = [
    ("a declaration without a comment", {"include/weft/tensor.h": _before_end("\nWF_API int wf_bare(void);")}, "wf_bare has no comment"),
    (
        "a comment that isn't documentation",
        {"include/weft/tensor.h": _before_end("\n/* Bare. */\nWF_API int wf_bare(void);")},
        "the comment of wf_bare",
    ),
    (
        "a type without a comment",
        {"include/weft/tensor.h": _before_end("\ntypedef struct wf_bare {\n  int a;\n} wf_bare;")},
        "wf_bare has no comment",
    ),
    ("a wrong include guard", {"include/weft/tensor.h": lambda t: t.replace("WEFT_TENSOR_H", "TENSOR_H")}, "the include guard"),
]
