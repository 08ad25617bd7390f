#!/usr/bin/env python3
"""Writes src/dryrun/entries.def: which entry points NVIDIA's libraries have, and which of their arguments are results.

    entry_points.py INCLUDE_FOLDER... >src/dryrun/entries.def

The folders are those of the installed headers (of PyPI's wheels: site-packages/nvidia/*/include); several releases may be given at once, the newest first: the
table is their union, and where they differ the first one's. Headers are preprocessed with cc and their prototypes read; nothing of them but names and which arguments a function writes goes into the table.
"""
import os
import re
import subprocess
import sys
import tempfile

# Library, its headers, the type that its functions return when they return a status.
LIBRARIES = [
    ("cudart", ["cuda_runtime_api.h", "cuda_profiler_api.h"], "cudaError_t"),
    ("driver", ["cuda.h"], "CUresult"),
    ("cublas", ["cublas_api.h"], "cublasStatus_t"),
    ("cublasLt", ["cublasLt.h"], "cublasStatus_t"),
    ("cudnn", ["cudnn.h"], "cudnnStatus_t"),
    ("cusparse", ["cusparse.h"], "cusparseStatus_t"),
    ("cusparseLt", ["cusparseLt.h"], "cusparseStatus_t"),
    ("cusolver", ["cusolverDn.h", "cusolverSp.h"], "cusolverStatus_t"),
    ("cufft", ["cufft.h", "cufftXt.h"], "cufftResult"),
    ("cufile", ["cufile.h"], "CUfileError_t"),
    ("nccl", ["nccl.h"], "ncclResult_t"),
    ("cupti", ["cupti.h"], "CUptiResult"),
]
PREFIX = {"cudart": "cuda", "driver": "cu", "cufile": "cuFile"}

# The wheels leave out crt/; of it the prototypes need these only.
HOST_DEFINES = """
#define __host__
#define __device__
#define __global__
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDART_CB
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __inline__ inline
#define __forceinline__ inline
#define __location__(a)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
"""

WIDTHS = {"int": 4, "unsigned": 4, "unsigned int": 4, "int32_t": 4, "uint32_t": 4, "float": 4, "size_t": 8, "int64_t": 8, "uint64_t": 8,
          "long long": 8, "long long int": 8, "unsigned long long": 8, "unsigned long": 8, "long": 8, "double": 8}
FLOATING = {"float", "double", "cuComplex", "cuDoubleComplex", "cuFloatComplex"}
TWO_WORDS = {"dim3"}
ONE_WORD_STRUCTS = {"cudaMemLocation", "CUmemLocation"}

# Numbers that are results. Elsewhere a pointer to numbers that isn't const may be an array that the function reads.
ASKS = re.compile(r"Get|Query|[bB]ufferSize|Size\d?$|Workspace|Nnz|nnz|Version|Count|[eE]stimat|SpGEMM(reuse)?_compute|getNumProducts|Occupancy|cufft(Xt)?Make|IsCapturing|CanAccess")
ARRAYS = {"n", "inembed", "onembed", "dims", "whichGPUs", "rank"}


def preprocessed(folders, header):
    with tempfile.TemporaryDirectory() as own:
        os.mkdir(os.path.join(own, "crt"))
        with open(os.path.join(own, "crt", "host_defines.h"), "w", encoding="utf-8") as file:
            file.write(HOST_DEFINES)
        command = ["cc", "-E", "-P", "-w", "-x", "c", "-D__CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__", "-I", own, *(f"-I{f}" for f in folders), "-"]
        result = subprocess.run(command, input=f"#include <stddef.h>\n#include <stdint.h>\n#include <{header}>\n", capture_output=True, text=True, check=False)
        return result.stdout


def statements(text):
    """Declarations at the outermost level; bodies in braces are dropped."""
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", text)
    depth, now, kept = 0, [], []
    for piece in re.split(r"([{};])", text):
        if piece == "{":
            depth += 1
            now.append("{}" if depth == 1 else "")
        elif piece == "}":
            depth = max(depth - 1, 0)
            if depth == 0 and re.search(r"\)\s*\{\}$", "".join(now).rstrip()):
                kept.append(" ".join("".join(now).split()))  # an inline function
                now = []
        elif depth == 0 and piece == ";":
            kept.append(" ".join("".join(now).split()))
            now = []
        elif depth == 0:
            now.append(piece)
    return kept


class Types:
    """What the typedefs say: names of opaque pointers, and widths of numbers and enumerations."""

    def __init__(self, lines):
        self.handles, self.width = set(), dict(WIDTHS)
        for line in lines:
            if not line.startswith("typedef ") or "(" in line:
                continue
            words = line.split()
            name, rest = words[-1], " ".join(words[1:-1])
            if name.startswith("*"):
                self.handles.add(name.lstrip("*"))
            elif rest.endswith("*") or rest in self.handles:
                self.handles.add(name)
            elif rest.startswith("enum"):
                self.width[name] = 4
                self.width["enum " + name] = 4
            elif rest in self.width:
                self.width[name] = self.width[rest]

    def is_known(self, kind):
        return kind in self.handles or kind in self.width or kind.startswith("enum ")


def split_arguments(text):
    depth, now, found = 0, "", []
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            found.append(now.strip())
            now = ""
        else:
            now += c
    return [a for a in found + [now.strip()] if a and a != "void"]


def declarator(argument):
    """(type without the last star, stars, name) of an argument."""
    argument = re.sub(r"\s*\b(extern|struct|volatile)\b\s*", " ", argument).strip()
    arrays = argument.count("[")
    argument = re.sub(r"\[[^\]]*\]", "", argument).strip()
    match = re.match(r"^(.*?)(\w*)$", argument)
    kind, name = match.group(1).strip(), match.group(2)
    if not kind or kind in ("const", "enum", "unsigned", "long"):
        kind, name = argument, ""
    stars = kind.count("*") + arrays
    return kind, stars, name


def result_of(types, function, kind, name):
    """The letter of what the function writes through a pointer to `kind`; None when it isn't a result."""
    base = kind.replace("*", " ").strip()
    if "const" in kind:
        return None
    stars = kind.count("*")
    if re.search(r"GetStream(_v2)?$", function):
        return "l"  # the default stream
    if base in types.handles and stars <= 1:
        return "h"
    if base == "void" and stars == 2:
        return "h" if re.search("Create|Get|Alloc", function) else None
    if stars > 1 or name in ARRAYS or not (name == "info" or ASKS.search(function)):
        return None
    if base.startswith("enum "):
        return "i"
    return {4: "i", 8: "l"}.get(types.width.get(base))


def results(types, function, arguments):
    """'0h,3l': slots of integer registers or of the stack, and what is written through the pointer that they hold."""
    slot, found = 0, []
    for argument in arguments:
        if "(" in argument or argument == "...":
            slot += 1
            continue
        kind, stars, name = declarator(argument)
        base = kind.replace("const", "").replace("*", "").strip()
        if stars == 0:
            if base in FLOATING:
                continue
            if base in TWO_WORDS:
                slot += 2
                continue
            if not types.is_known(base) and base not in ONE_WORD_STRUCTS and base not in ("void", "char", "unsigned char", "signed char", "bool", "_Bool"):
                break  # a structure by value: where it goes depends on its size
        else:
            letter = result_of(types, function, kind if "*" in kind else kind + " *", name)
            if letter:
                found.append(f"{slot}{letter}")
        slot += 1
    return ",".join(found)


def entries(folders, library, headers, status):
    prefix = PREFIX.get(library, library)
    prototype = re.compile(rf"^(?:extern )?(?:__attribute__ )?(?:enum )?{status}\s+(?:\w+ )?({prefix}\w+)\s*\((.*)\)$")
    found = {}
    for header in headers:
        text = preprocessed(folders, header)
        if not text:
            continue
        lines = statements(text)
        types = Types(lines)
        for line in lines:
            match = prototype.match(re.sub(r"\{\}|\bstatic\b|\binline\b|^.*extern \"C\"", "", line).strip())
            if match:
                found[match.group(1)] = results(types, match.group(1), split_arguments(match.group(2)))
    return found


def main():
    folders = sys.argv[1:]
    if not folders:
        sys.exit(__doc__.strip())
    print("/* Entry points of NVIDIA's libraries: ENTRY(library, name, \"slot and kind of each result\"). Written by tools/dryrun/entry_points.py out of the")
    print(" * installed headers' prototypes; h: a handle, i: 4 bytes, l: 8 bytes. */")
    seen = set()
    for library, headers, status in LIBRARIES:
        union = {}
        for folder in folders:
            union = {**entries([folder, *folders], library, headers, status), **union}
        if not union:
            print(f"entry_points.py: no prototypes of {library} in these folders", file=sys.stderr)
        for name, outputs in sorted(union.items()):
            if name not in seen:
                seen.add(name)
                print(f'ENTRY({library}, {name}, "{outputs}")')


if __name__ == "__main__":
    main()
