"""The files that lints look at: the tree on disk, with some files replaced for self-tests."""
import os
import re

SKIPPED_FOLDERS = re.compile(r"^(\.git|\.cache|build(-.*)?|shared|__pycache__)$")


class Tree:
    """Paths are relative to the root, with slashes. overlay: {path: text, or None for a file that isn't there}."""

    def __init__(self, root, overlay=None, library=None):
        self.root = root
        self.overlay = overlay or {}
        self.built_library = library  # the built libweft.so, for the lints that look at it
        self.forget()

    def forget(self):
        """Reads everything anew: files have been changed on disk."""
        self._paths = None
        self._texts = {}

    def paths(self, pattern="."):
        if self._paths is None:
            found = set()
            for folder, folders, files in os.walk(self.root):
                folders[:] = [f for f in folders if not SKIPPED_FOLDERS.match(f)]
                relative = os.path.relpath(folder, self.root)
                for name in files:
                    found.add(name if relative == "." else f"{relative}/{name}")
            for path, text in self.overlay.items():
                (found.discard if text is None else found.add)(path)
            self._paths = sorted(found)
        matches = re.compile(pattern).search
        return [p for p in self._paths if matches(p)]

    def exists(self, path):
        if path in self.overlay:
            return self.overlay[path] is not None
        return os.path.isfile(os.path.join(self.root, path))

    def text(self, path):
        if path in self.overlay:
            return self.overlay[path]
        if path not in self._texts:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                self._texts[path] = file.read()
        return self._texts[path]

    def lines(self, path):
        return self.text(path).splitlines()

    def with_overlay(self, overlay):
        return Tree(self.root, {**self.overlay, **overlay}, self.built_library)


TOKENS = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def code_only(text):
    """C source without comments and with empty string literals; lines keep their numbers."""

    def blank(match):
        token = match.group(0)
        if token[0] == '"':
            return '""'
        if token[0] == "'":
            return "' '"
        return "\n" * token.count("\n") or " "

    return TOKENS.sub(blank, text)
