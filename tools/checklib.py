# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the checks share: the files of the tree, C without comments, results.

Every check is a program `tools/check_<name>` that takes `--root DIR` (the
tree to judge, so that tests can feed it broken ones), prints one line a
violation, `path:line: what`, and exits 1 if there was any.
"""
import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Check:
    def __init__(self, name):
        self.name = name
        self.found = []

    def fail(self, where, what):
        self.found.append(f"{where}: {what}")

    def finish(self, summary):
        for line in self.found:
            print(line)
        if self.found:
            print(f"{self.name}: {len(self.found)} found")
            sys.exit(1)
        print(f"{self.name}: {summary}")
        sys.exit(0)


def parser(doc):
    p = argparse.ArgumentParser(description=doc.strip().splitlines()[0])
    p.add_argument("--root", type=pathlib.Path, default=HERE.parent,
                   help="the tree to judge")
    return p


def tree_files(root):
    """Files that are, or would be, under version control; sorted, relative."""
    try:
        out = subprocess.run(
            ["git", "-c", f"safe.directory={root.resolve()}", "ls-files", "-z",
             "--cached", "--others", "--exclude-standard"],
            cwd=root, capture_output=True, check=True).stdout
        top = subprocess.run(
            ["git", "-c", f"safe.directory={root.resolve()}", "rev-parse",
             "--show-toplevel"],
            cwd=root, capture_output=True, check=True).stdout
        if pathlib.Path(top.decode().strip()) == root.resolve():
            names = [n for n in out.decode().split("\0") if n]
            return sorted(pathlib.Path(n) for n in names
                          if (root / n).is_file())
    except (OSError, subprocess.CalledProcessError):
        pass
    skip = {".git", "build", "__pycache__"}
    return sorted(p.relative_to(root) for p in root.rglob("*")
                  if p.is_file() and
                  not skip & set(p.relative_to(root).parts))


def sources(root, folders, suffixes=(".c", ".h", ".inc")):
    """(relative path, text) of the C files below the folders named."""
    for path in tree_files(root):
        if path.parts[0] in folders and path.suffix in suffixes:
            yield path, (root / path).read_text(encoding="utf-8")


_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code_only(text, keep_strings=False):
    """C with comments (and strings) blanked; lines stay where they were."""
    def blank(m):
        t = m.group(0)
        if t[0] in "\"'":
            return t if keep_strings else t[0] + " " * (len(t) - 2) + t[-1]
        return re.sub(r"[^\n]", " ", t)
    return _TOKEN.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True,
                          text=True, check=True).stdout


def nm(path, *options):
    """(symbol, type) pairs; version suffixes dropped."""
    out = []
    for line in run("nm", "-P", *options, path).splitlines():
        fields = line.split()
        if len(fields) >= 2 and not line.endswith(":"):
            out.append((fields[0].split("@")[0], fields[1]))
    return out


def map_symbols(text):
    """Global names of a linker version script."""
    text = code_only(text)
    body = re.search(r"global:(.*?)(?:local:|\})", text, re.S)
    return re.findall(r"\w+", body.group(1)) if body else []


_DECLARATION = re.compile(r"^[ \t]*HF_API\b([^;{]*?)\b(hf_\w+)\s*\(([^;]*)\)"
                          r"([^;()]*);", re.M)


class Declaration:
    def __init__(self, path, text, match):
        self.path = path
        self.line = line_of(text, match.start())
        self.start, self.end = match.start(), match.end()
        self.returns = " ".join(match.group(1).split())
        self.name = match.group(2)
        self.parameters = split_parameters(match.group(3))


def split_parameters(text):
    """Splits at commas outside parentheses."""
    out, depth, part = [], 0, ""
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            out.append(part)
            part = ""
        else:
            part += c
    out.append(part)
    return [" ".join(p.split()) for p in out if p.split()]


def public_declarations(root):
    """HF_API functions of include/, with the headers' text."""
    for path, text in sources(root, {"include"}, (".h",)):
        code = code_only(text)
        # Macros are not declarations.
        code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
                      lambda m: re.sub(r"[^\n]", " ", m.group(0)), code,
                      flags=re.M)
        for match in _DECLARATION.finditer(code):
            yield Declaration(path, code, match), text
