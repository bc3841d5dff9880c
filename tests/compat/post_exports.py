#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""libpost.so and libpost.a show the names of post.map, and those alone.

    post_exports.py libpost.so libpost.a

The map in turn has every function of post.h and holdfast_post.h.
"""
import pathlib
import re
import subprocess
import sys

LIBPOST = pathlib.Path(__file__).resolve().parents[2] / "compat/libpost"


def no_comments(path):
    text = (LIBPOST / path).read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def shown(*command):
    lines = subprocess.run(["nm", "--defined-only", *command], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    fields = [line.split() for line in lines]
    return {f[2].split("@")[0] for f in fields if len(f) == 3}


def main():
    shared, archive = sys.argv[1:]
    body = re.search(r"global:(.*?)local:", no_comments("post.map"), re.S)
    listed = set(re.findall(r"\w+", body.group(1)))
    declared = set()
    for header in ("post.h", "holdfast_post.h"):
        code = re.sub(r"^#[^\n]*$|\{[^{}]*\}", " ", no_comments(header),
                      flags=re.M)
        declared |= set(re.findall(r"\b(\w+)\s*\(\s*(?=\w[^()]*[\w*]|void\))",
                                   code))
    declared -= {"callback"}
    wrong = []
    for name, names in (("the headers", declared),
                        ("libpost.so", shown("-D", shared)),
                        ("libpost.a", shown("--extern-only", archive))):
        wrong += [f"{n} is in {name}, not in post.map"
                  for n in sorted(names - listed)]
        wrong += [f"{n} is in post.map, not in {name}"
                  for n in sorted(listed - names)]
    dynamic = subprocess.run(["readelf", "-dW", shared], check=True,
                             capture_output=True, text=True).stdout
    if "NODELETE" not in dynamic:
        wrong.append("libpost.so may be unmapped while its threads run")
    needed = set(re.findall(r"NEEDED.*\[(.*?)\]", dynamic))
    foreign = {n for n in needed
               if not re.match(r"lib(c|m|pthread|yajl|randomx)\.so|ld-", n)}
    if foreign:
        wrong.append(f"libpost.so needs {' '.join(sorted(foreign))}")
    if "$ORIGIN" not in dynamic:
        wrong.append("libpost.so does not look beside itself")
    print("\n".join(wrong) or f"{len(listed)} names agree")
    sys.exit(1 if wrong else 0)


main()
