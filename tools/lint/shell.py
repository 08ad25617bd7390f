"""Shell scripts: POSIX sh as shellcheck reads it."""
import re
import subprocess

TITLE = "shellcheck finds nothing"

SCRIPTS = r"^dev$|^\.ci/run$|\.sh$"
FOUND = re.compile(r"^-:(\d+):\d+: (.*)")


def check(tree):
    for path in [p for p in tree.overlay if re.search(SCRIPTS, p)] or tree.paths(SCRIPTS):
        command = ["shellcheck", "--shell=sh", "--format=gcc", "--external-sources", "-"]
        text = subprocess.run(command, input=tree.text(path), capture_output=True, text=True, check=False, cwd=tree.root).stdout
        for line in text.splitlines():
            match = FOUND.match(line)
            if match:
                yield path, int(match.group(1)), match.group(2)


BROKEN = [("an unquoted variable", {"dev": lambda text: text + "rm $1\n"}, "SC2086")]
