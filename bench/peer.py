#!/usr/bin/env python3
"""Times Weft beside libtorch, case by case in turn, and prints both with their ratio and what memcpy reached.

Both are run alike: warm (the same buffers every time, as programs that time libtorch do) unless --cold is given. In a round each runs
once (15 times, of which the median counts); the ratio is the median of the rounds' ratios, so that a machine that drifts moves both. libtorch is the one that comes with PyPI's
torch in the Python that --python or WEFT_TORCH_PYTHON names (else python3); bench/libtorch.cpp is compiled against it once, into the build
folder.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ASK = "import os, torch; print(os.path.dirname(torch.__file__)); print(torch.__version__); print(int(torch.compiled_with_cxx11_abi()))"


def fail(code, *lines):
    print("bench peer: " + "\n  ".join(lines), file=sys.stderr)
    sys.exit(code)


def find_torch(python):
    """(folder, version, C++ ABI) of the torch that `python` imports."""
    try:
        answer = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=False)
    except OSError as error:
        fail(2, f"{python} can't be run: {error.strerror}", "name a Python that has torch by --python or WEFT_TORCH_PYTHON")
    lines = answer.stdout.split()
    if answer.returncode or len(lines) != 3:
        fail(
            2,
            f"{python} has no torch: {(answer.stderr.strip().splitlines() or ['no answer'])[-1]}",
            "install it (python3 -m venv torch && torch/bin/pip install torch),",
            "then name that Python by --python torch/bin/python or WEFT_TORCH_PYTHON",
        )
    return lines


def build_peer(name, folder, torch, version, abi, *more):
    """The compiled bench/NAME.cpp; made again when it or torch is another."""
    source, program = os.path.join(HERE, name + ".cpp"), os.path.join(folder, "bench", name)
    stamp = program + ".made-with"
    made_with = f"{torch} {version} {os.stat(source).st_mtime_ns}"
    if os.path.exists(program) and os.path.exists(stamp) and open(stamp, encoding="utf-8").read() == made_with:
        return program
    os.makedirs(os.path.dirname(program), exist_ok=True)
    command = [
        os.environ.get("CXX", "c++"), "-std=c++20", "-O2", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", source, "-o", program,
        "-isystem", f"{torch}/include", "-isystem", f"{torch}/include/torch/csrc/api/include",
        f"-L{torch}/lib", f"-Wl,-rpath,{torch}/lib", "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10", "-pthread", *more,
    ]  # fmt: skip
    print(f"compiling bench/{name}.cpp against torch {version}", file=sys.stderr)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        fail(2, f"{command[0]} can't be run: {error.strerror}", "install a C++ compiler, or name one by CXX")
    if done.returncode:
        fail(1, f"bench/{name}.cpp doesn't compile against this torch:", *done.stderr.strip().splitlines()[-12:])
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(made_with)
    return program


def environment(threads):
    policy = os.environ.get("OMP_WAIT_POLICY", "passive")  # or one's threads spin while the other runs
    return dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY=policy)


class Pair:
    """The two programs. libtorch's takes long to start, so it stays and is asked for one case at a time."""

    def __init__(self, weft, peer, options):
        self.weft, self.options = weft, options
        self.peer = subprocess.Popen(
            [peer, str(options.threads), "cold" if options.cold or options.random else "warm"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(options.threads),
        )  # fmt: skip

    def close(self):
        self.peer.stdin.close()
        self.peer.wait()

    def weft_rows(self, suite, *more):
        command = [self.weft, "bench", suite, "--json", "--threads", str(self.options.threads), *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(self.options.threads))
        if done.returncode:
            fail(1, f"{' '.join(command)} failed:", *done.stderr.strip().splitlines()[-5:])
        return json.loads(done.stdout)

    def weft_case(self, suite, name):
        warm = ["--warm"] if suite == "copy" and not self.options.cold else []
        row = self.weft_rows(suite, "--filter", f"^{re.escape(name)}$", *warm)[0]
        return row["value"], row.get("memcpy", 0)

    def peer_case(self, name):
        self.peer.stdin.write(name + "\n")
        self.peer.stdin.flush()
        answer = self.peer.stdout.readline().split()
        if len(answer) != 2:
            fail(1, f"libtorch's program ended at '{name}'")
        return tuple(map(float, answer))

    def compare(self, suite, name):
        rounds = range(self.options.rounds)
        return row_of(suite, name, [(*self.weft_case(suite, name), *self.peer_case(name)) for _ in rounds])

    def compare_layouts(self, count, seed):
        for row in self.weft_rows("copy", "--random", str(count), "--seed", str(seed)):
            dtype, sizes, order = re.match(r"(\w+)\[(.*)\] permute (.*)", row["name"]).groups()
            yield row_of_layout(row, *self.peer_case(f"layout {dtype} {sizes} {order}"))


def operator_rows(options, torch, version, abi):
    """Both libraries in one process, which takes turns itself."""
    build = os.path.realpath(options.build)
    flags = [f"-I{HERE}/../include", f"-L{build}", f"-Wl,-rpath,{build}", "-lweft"]
    program = build_peer("operators", options.build, torch, version, abi, *flags)
    command = [program, str(options.threads), str(5 * options.rounds), options.filter]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(options.threads)) as run:
        for line in run.stdout:
            name, weft, libtorch, ratio = line.split()
            yield {"suite": "ops", "name": name, "unit": "us", "weft": float(weft), "libtorch": float(libtorch), "ratio": float(ratio)}
    if run.returncode:
        fail(1, f"{' '.join(command)} ended with {run.returncode}")


def row_of(suite, name, rounds):
    """ratio: above 1 where Weft is faster."""
    micro = suite == "micro"
    middle = lambda values: statistics.median(list(values))
    row = {
        "suite": suite,
        "name": name,
        "unit": "ns" if micro else "GB/s",
        "weft": middle(r[0] for r in rounds),
        "libtorch": middle(r[2] for r in rounds),
        "ratio": middle(r[2] / r[0] if micro else r[0] / r[2] for r in rounds),
    }
    if not micro:
        row["weft_by_memcpy"] = middle(r[0] / r[1] for r in rounds)
        row["libtorch_by_memcpy"] = middle(r[2] / r[3] for r in rounds)
    return row


def row_of_layout(weft, value, memcpy):
    """All of Weft's layouts run before libtorch's, so what is compared are the shares of memcpy that ran beside each."""
    row = row_of("copy", weft["name"], [(weft["value"], weft["memcpy"], value, memcpy)])
    row["ratio"] = row["weft_by_memcpy"] / row["libtorch_by_memcpy"]
    return row


def print_row(row, first):
    if first:
        print(f"{'case':44} {'weft':>10} {'libtorch':>10} {'unit':5} {'ratio':>6}   of memcpy: weft, libtorch")
    shares = f"{row['weft_by_memcpy']:17.2f} {row['libtorch_by_memcpy']:9.2f}" if "weft_by_memcpy" in row else ""
    print(f"{row['name']:44} {row['weft']:10.1f} {row['libtorch']:10.1f} {row['unit']:5} {row['ratio']:6.2f} {shares}", flush=True)


def print_distribution(rows):
    print()
    for key, title in (("weft_by_memcpy", "weft of memcpy"), ("libtorch_by_memcpy", "libtorch of memcpy"), ("ratio", "weft to libtorch")):
        values = sorted(row[key] for row in rows)
        at = lambda p: statistics.quantiles(values, n=100, method="inclusive")[p - 1] if len(values) > 1 else values[0]
        print(f"{title:20} min {values[0]:.2f}  p10 {at(10):.2f}  p25 {at(25):.2f}  median {at(50):.2f}  p75 {at(75):.2f}  max {values[-1]:.2f}")


def parse():
    parser = argparse.ArgumentParser(
        prog="bench/peer.py",
        description="Weft beside libtorch, in turn.",
        epilog="Example: ./dev bench peer --python torch/bin/python copy --filter transpose",
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="micro, copy (default: both), ops")
    parser.add_argument("--filter", default="", metavar="RE", help="only the cases whose name matches RE")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="times each runs a case, in turn (default 3)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of both (default 1)")
    parser.add_argument("--cold", action="store_true", help="buffers rotate in both, instead of the same ones every time")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N random layouts, cold, instead of the named cases")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="which random layouts")
    parser.add_argument("--python", default=os.environ.get("WEFT_TORCH_PYTHON", "python3"), help="a Python that has torch")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), metavar="FOLDER", help="where weft is built")
    parser.add_argument("--json", action="store_true", help="print one JSON array")
    options = parser.parse_args()
    for suite in options.suites:
        if suite not in ("micro", "copy", "ops"):
            parser.error(f"there is no suite '{suite}' that libtorch has: micro, copy, ops")
    try:
        re.compile(options.filter)
    except re.error as error:
        parser.error(f"'{options.filter}' is no regular expression: {error}")
    if min(options.rounds, options.threads) < 1:
        parser.error("--rounds and --threads take numbers from 1 on")
    return options


def rows_of(pair, peer, options):
    if options.random:
        yield from pair.compare_layouts(options.random, options.seed)
        return
    for line in subprocess.run([peer, "list"], capture_output=True, text=True, check=True).stdout.splitlines():
        suite, name = line.split(" ", 1)
        if suite in (options.suites or ("micro", "copy")) and re.search(options.filter, name):
            yield pair.compare(suite, name)


def compare(options, weft, torch, version, abi):
    if "ops" in options.suites:
        yield from operator_rows(options, torch, version, abi)
    if options.suites == ["ops"]:
        return
    peer = build_peer("libtorch", options.build, torch, version, abi)
    pair = Pair(weft, peer, options)
    yield from rows_of(pair, peer, options)
    pair.close()


def main():
    options = parse()
    weft = os.path.join(options.build, "weft")
    torch, version, abi = find_torch(options.python)
    if not os.access(weft, os.X_OK):
        fail(2, f"there is no {weft}", "build it first: ./dev build")
    rows = []
    for row in compare(options, weft, torch, version, abi):
        rows.append(row)
        if not options.json:
            print_row(row, len(rows) == 1)
    if options.json:
        print(json.dumps(rows, indent=1))
    elif options.random and rows:
        print_distribution(rows)


if __name__ == "__main__":
    main()
