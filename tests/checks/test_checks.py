#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each check of tools/ accepts a good tree and finds each kind of fault.

A small tree that keeps every rule is made in a temporary folder; then one
fault at a time is put into it and the check must name it.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
TAG = "SPDX-License-Identifier: Apache-2.0 OR MIT"
C = f"/* {TAG} */\n"

HEADER = C + """\
#ifndef HOLDFAST_BASE_H
#define HOLDFAST_BASE_H
#include <stddef.h>
#define HF_API __attribute__((visibility("default")))
#define HF_STATUS_LIST(X) X(HF_OK, 0, "") X(HF_E_IO, 4, "")
typedef struct hf_thing hf_thing;
typedef struct hf_error {
    int code;
} hf_error;
/* Makes one. gives *thing (hf_thing_free) */
HF_API int hf_thing_new(hf_thing **thing, hf_error *err);
/* NULL is fine. */
HF_API void hf_thing_free(hf_thing *thing);
#endif
"""
SOURCE = C + """\
#include "base/base.h"
int hfi_shared;
HF_API int hf_thing_new(hf_thing **thing, hf_error *err)
{
    (void)err;
    *thing = NULL;
    return hfi_shared;
}
HF_API void hf_thing_free(hf_thing *thing)
{
    (void)thing;
}
"""
GOOD = {
    "include/holdfast/base.h": HEADER,
    "src/base/base.h": C + "#include <holdfast/base.h>\n#include <unistd.h>\n",
    "src/base/thing.c": SOURCE,
    "src/base/alloc.c": C + "void *hfi_a(void);\n"
                            "void *hfi_a(void) { return malloc(1); }\n",
    "src/base/json.c": C + "#include <yajl/yajl_parse.h>\n",
    "src/pow/pow.h": C + '#include "base/base.h"\n',
    "src/pow/pow.c": C + '#include "pow/pow.h"\n#include <randomx.h>\n',
    "src/kernel/kernel.h": C + '#include "base/base.h"\n',
    "src/kernel/label_avx2.c": C + "#include <immintrin.h>\n",
    "src/space/space.h": C + '#include "pow/pow.h"\n',
    "src/space/init.c": C + '#include "space.h"\n#include "space/space.h"\n'
                            "/* free(x) in a comment is nothing */\n",
    "src/holdfast.map": C + "H_0 {\n    global:\n        hf_thing_free;\n"
                            "        hf_thing_new;\n    local:\n        *;\n};\n",
    "cli/main.c": C + "#include <holdfast/base.h>\n#include <stdio.h>\n",
    "CHANGELOG.md": "## Unreleased\n\n### ABI\n\n## 0.1.0\n",
    "docs/man/holdfast.1": f'.\\" {TAG}\nholdfast info\n\\-\\-json\n'
                           "\\-\\-help HF_E_IO\n",
    "tests/vectors/set/a.json": "{}\n",
    "tests/vectors/PROVENANCE.md":
        "## set\n\n<!-- files: begin -->\n<!-- files: end -->\n",
}


class Tree:
    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-check-"))
        for name, text in GOOD.items():
            self.write(name, text)
        self.check("check_vectors", "--update")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text, encoding="utf-8")

    def add(self, name, text):
        self.write(name, (self.root / name).read_text(encoding="utf-8") + text)

    def change(self, name, old, new):
        text = (self.root / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def check(self, name, *options):
        r = subprocess.run(
            [sys.executable, TOP / "tools" / name, "--root", self.root,
             *options], capture_output=True, text=True, timeout=60)
        assert r.returncode in (0, 1) and not r.stderr, r.stderr
        return r.returncode, r.stdout

    def compile(self, *flags, map_file=True):
        """The shared and the static library of the tree."""
        shared, archive = self.root / "libx.so", self.root / "libx.a"
        objects = []
        for source in sorted(self.root.glob("src/base/*.c")):
            if source.name == "json.c":
                continue
            out = source.with_suffix(".o")
            subprocess.run(["cc", "-w", "-fPIC", "-fvisibility=hidden",
                            "-include", "stdlib.h", *flags, "-I",
                            self.root / "include", "-I", self.root / "src",
                            "-c", source, "-o", out], check=True)
            objects.append(out)
        script = [f"-Wl,--version-script={self.root / 'src/holdfast.map'}"] \
            if map_file else []
        subprocess.run(["cc", "-shared", "-o", shared, *objects, *script],
                       check=True)
        subprocess.run(["ar", "rcs", archive, *objects], check=True)
        for o in objects:
            o.unlink()
        return shared, archive


class Case(unittest.TestCase):
    def setUp(self):
        self.tree = Tree()
        self.addCleanup(shutil.rmtree, self.tree.root)

    def good(self, name, *options):
        code, out = self.tree.check(name, *options)
        self.assertEqual(code, 0, out)

    def bad(self, expected, name, *options):
        code, out = self.tree.check(name, *options)
        self.assertEqual(code, 1, out)
        self.assertIn(expected, out)


class Layers(Case):
    def fault(self, name, line, expected):
        with self.subTest(name=name, line=line):
            tree, self.tree = self.tree, Tree()
            try:
                self.tree.write(name, C + line + "\n")
                self.bad(expected, "check_layers")
            finally:
                shutil.rmtree(self.tree.root)
                self.tree = tree

    def test_good(self):
        self.good("check_layers")

    def test_faults(self):
        for name, line, expected in [
            ("src/base/x.c", '#include "pow/pow.h"', "may not include"),
            ("src/kernel/x.c", '#include "hash/hash.h"', "may not include"),
            ("src/pow/x.c", '#include "space/space.h"', "may not include"),
            ("src/space/x.c", '#include "circom/circom.h"', "may not include"),
            ("src/groth16/x.c", '#include "space/space.h"', "may not include"),
            ("src/space/x.c", '#include "pow/private.h"', "not the door"),
            ("src/space/x.c", '#include "gone.h"', "not a file of space"),
            ("src/space/x.c", '#include "nowhere/nowhere.h"', "no such module"),
            ("src/new/x.c", '#include "base/base.h"', "not in a module"),
            ("src/base/x.c", "#include <holdfast/space.h>", "lies below"),
            ("src/space/x.c", "#include <holdfast/groth16.h>", "lies below"),
            ("src/space/x.c", "#include <unistd.h>", "system calls"),
            ("src/space/x.c", "#include <sys/mman.h>", "system calls"),
            ("src/context/x.c", "#  include <signal.h>", "system calls"),
            ("src/space/x.c", "#include <randomx.h>", "has one place"),
            ("cli/x.c", "#include <randomx.h>", "has one place"),
            ("src/base/x.c", "#include <yajl/yajl_gen.h>", "has one place"),
            ("src/backend/cpu.c", "#include <CL/cl.h>", "has one place"),
            ("src/kernel/select.c", "#include <immintrin.h>", "intrinsics"),
            ("src/space/x.c", "#include <arm_neon.h>", "intrinsics"),
            ("src/kernel/x.c", "#include <cpuid.h>", "cpu.c"),
            ("src/space/x.c", "void *p = malloc(3);", "malloc"),
            ("src/base/x.c", "void f(void *p) { free (p); }", "free"),
            ("src/sched/x.c", "void *p = mmap(0);", "mmap"),
            ("include/holdfast/x.h", '#include "holdfast/base.h"', "public"),
            ("include/holdfast/x.h", "#include <pthread.h>", "public"),
            ("cli/x.c", '#include "base/base.h"', "stands on"),
            ("bench/x.c", '#include "kernel/private.h"', "stands on"),
            ("compat/x.c", '#include "kernel/kernel.h"', "stands on"),
            ("cli/x.c", '#include "../src/base/base.h"', "reaches into src"),
            ("device/main.c", '#include "space/space.h"', "stands on"),
            ("src/space/sources.cmake", 'set(X "-mavx2")', "ISA flags"),
            ("CMakeLists.txt", "add_compile_options(-march=native)",
             "ISA flags"),
        ]:
            self.fault(name, line, expected)

    def test_bench_may_measure_inside(self):
        self.tree.write("bench/x.c", C + '#include "kernel/kernel.h"\n')
        self.good("check_layers")

    def test_pow_may_probe_pages(self):
        self.tree.add("src/pow/pow.c", "void *p = mmap(0);\n")
        self.good("check_layers")


class Exports(Case):
    def test_good(self):
        shared, _ = self.tree.compile()
        self.good("check_exports", "--library", shared)

    def test_not_in_map(self):
        self.tree.change("src/holdfast.map", "        hf_thing_new;\n", "")
        self.bad("hf_thing_new is not in src/holdfast.map", "check_exports")

    def test_not_declared(self):
        self.tree.change("src/holdfast.map", "global:", "global: hf_more;")
        self.bad("hf_more is declared in no header", "check_exports")

    def test_not_defined(self):
        shared, _ = self.tree.compile()
        self.tree.change("src/holdfast.map", "global:", "global: hf_more;")
        self.tree.change("include/holdfast/base.h", "#endif\n",
                         "/* a */\nHF_API void hf_more(void);\n#endif\n")
        self.bad("hf_more is listed, not exported", "check_exports",
                 "--library", shared)

    def test_exported_besides(self):
        self.tree.change("src/base/thing.c", "int hfi_shared",
                         "HF_API int hfi_shared")
        shared, _ = self.tree.compile(map_file=False)
        self.bad("hfi_shared is exported, not listed", "check_exports",
                 "--library", shared)

    def test_update(self):
        self.tree.change("src/holdfast.map", "        hf_thing_new;\n", "")
        self.good("check_exports", "--update")
        self.assertEqual((self.tree.root / "src/holdfast.map").read_text(),
                         GOOD["src/holdfast.map"])


class Abi(Case):
    def old(self, names):
        self.tree.write("old.map", "H_0 { global: " + names + " local: *; };")
        return ("--tag", "v0.1.0", "--old-map", self.tree.root / "old.map")

    def test_same(self):
        self.good("check_abi", *self.old("hf_thing_new; hf_thing_free;"))

    def test_removed(self):
        old = self.old("hf_thing_new; hf_thing_free; hf_gone;")
        self.bad("hf_gone was removed", "check_abi", *old)
        self.tree.change("CHANGELOG.md", "### ABI\n", "### ABI\n- `hf_gone`\n")
        self.good("check_abi", *old)

    def test_added(self):
        self.bad("hf_thing_new was added", "check_abi",
                 *self.old("hf_thing_free;"))

    def test_told_for_an_older_release_only(self):
        self.tree.add("CHANGELOG.md", "### ABI\n- hf_gone\n")
        self.bad("hf_gone was removed", "check_abi",
                 *self.old("hf_thing_new; hf_thing_free; hf_gone;"))


class Calls(Case):
    def test_good(self):
        self.good("check_calls", *self.tree.compile())

    def test_each_kind(self):
        for call in ["exit(1)", "abort()", 'printf("%d", 1)', 'puts("")',
                     "signal(2, 0)", "raise(6)", "fork()", 'system("")',
                     'getenv("A")', 'fputs("x", stderr)', "_exit(1)"]:
            with self.subTest(call=call):
                self.tree.write("src/base/fault.c",
                                C + "#include <stdio.h>\n#include <signal.h>\n"
                                "#include <unistd.h>\n"
                                "void hfi_fault(void);\n"
                                f"void hfi_fault(void) {{ {call}; }}\n")
                _, archive = self.tree.compile()
                name = "stderr" if "stderr" in call else call.split("(")[0]
                self.bad(f"uses {name}", "check_calls", archive)

    def test_shared(self):
        self.tree.change("src/base/thing.c", "(void)err;", "abort();")
        shared, _ = self.tree.compile()
        self.bad("abort", "check_calls", shared)

    def test_allowed(self):
        self.tree.change("src/base/thing.c", "(void)err;",
                         'if (getenv("A")) abort();')
        shared, _ = self.tree.compile()
        self.bad("getenv", "check_calls", shared)
        code, out = self.tree.check("check_calls", "--allow", "getenv", shared)
        self.assertEqual(code, 1)
        self.assertNotIn("getenv", out)
        self.assertIn("abort", out)

    def test_assert(self):
        self.tree.change("src/base/thing.c", "(void)err;", "assert(err);")
        self.tree.change("src/base/thing.c", "int hfi_shared",
                         "#include <assert.h>\nint hfi_shared")
        shared, archive = self.tree.compile()
        self.bad("__assert_fail", "check_calls", shared)
        self.good("check_calls", "--allow-assert", shared, archive)
        self.good("check_calls", *self.tree.compile("-DNDEBUG"))


class Names(Case):
    def test_good(self):
        _, archive = self.tree.compile()
        self.good("check_names", "--archive", archive)

    def test_symbol(self):
        self.tree.add("src/base/thing.c", "int counter = 1;\n")
        _, archive = self.tree.compile()
        self.bad("counter has no prefix", "check_names", "--archive", archive)

    def test_public_prefix_inside(self):
        self.tree.add("src/base/thing.c", "int hf_inner = 1;\n")
        _, archive = self.tree.compile()
        self.bad("hf_inner is in no public header", "check_names",
                 "--archive", archive)

    def test_header(self):
        self.tree.change("include/holdfast/base.h", "#endif\n",
                         "#define LIMIT 3\n#endif\n")
        self.bad("macro LIMIT", "check_names")
        self.tree.change("include/holdfast/base.h", "#define LIMIT 3\n",
                         "typedef struct point {\n    int x;\n} point;\n")
        self.bad("type point", "check_names")


class Glibc(Case):
    def promise(self, text):
        self.tree.write("README.md", f"| | |\n| glibc | {text} |\n")

    def test_good(self):
        shared, _ = self.tree.compile()
        self.promise("build: 9.0 (new); tarball: 8.1")
        self.good("check_glibc", shared)
        self.good("check_glibc", "--promise", "tarball", shared)

    def test_too_new(self):
        shared, _ = self.tree.compile()
        self.promise("build: 9.0; tarball: 2.1")
        self.good("check_glibc", shared)
        self.bad("promised is 2.1", "check_glibc", "--promise", "tarball",
                 shared)

    def test_ten_is_more_than_nine(self):
        shared, _ = self.tree.compile()
        self.promise("build: 2.100")
        self.good("check_glibc", shared)

    def test_nothing_promised(self):
        shared, _ = self.tree.compile()
        self.promise("any")
        self.bad("promises no glibc for build", "check_glibc", shared)

    def test_nothing_judged(self):
        path = self.tree.root / "libempty.so"
        subprocess.run(["cc", "-shared", "-nostdlib", "-o", path, "-x", "c",
                        "/dev/null"], check=True)
        self.promise("build: 2.36")
        self.bad("names no version", "check_glibc", path)


class Docs(Case):
    def tool(self, text, code=0):
        path = self.tree.root / "tool"
        path.write_text(f"#!/bin/sh\ncat <<'X'\n{text}\nX\nexit {code}\n")
        path.chmod(0o755)
        return ("--tool", path)

    def test_good(self):
        self.good("check_docs")
        self.good("check_docs", *self.tool("  info   x\n --json --help"))

    def test_no_comment(self):
        self.tree.change("include/holdfast/base.h", "/* NULL is fine. */\n",
                         "\n")
        self.bad("hf_thing_free has no comment", "check_docs")

    def test_no_owner(self):
        self.tree.change("include/holdfast/base.h",
                         "gives *thing (hf_thing_free)", "It is new.")
        self.bad("who owns hf_thing **thing", "check_docs")

    def test_code(self):
        self.tree.change("include/holdfast/base.h", 'X(HF_E_IO, 4, "")',
                         'X(HF_E_IO, 4, "") X(HF_E_NEW, 5, "")')
        self.bad("HF_E_NEW is explained nowhere", "check_docs")

    def test_case_without_test(self):
        test = self.tree.root / "tests/unit/test_thing.c"
        test.parent.mkdir(parents=True, exist_ok=True)
        test.write_text(C + "static void grows(void)\n{\n}\n")
        table = self.tree.root / "docs/testing.md"
        table.write_text("| P01 | it | `test_thing: grows` (all) |\n")
        self.good("check_docs")
        table.write_text("| P01 | it | `test_thing: grows, shrinks` |\n")
        self.bad("test_thing has no shrinks", "check_docs")
        table.write_text("| P01 | it | `test_other: grows` |\n")
        self.bad("there is no test_other", "check_docs")

    def test_option_not_in_manual(self):
        self.bad("--color is not told", "check_docs",
                 *self.tool("  info\n--json --help --color"))

    def test_option_not_in_help(self):
        self.bad("--json is in the manual", "check_docs",
                 *self.tool("  info\n --help"))

    def test_command_not_in_manual(self):
        self.bad("space prove is not told", "check_docs",
                 *self.tool("  info\n  space prove\n --help --json"))

    def test_help_fails(self):
        self.bad("ends with 2", "check_docs",
                 *self.tool("  info\n --help --json", 2))

    def test_no_manual(self):
        (self.tree.root / "docs/man/holdfast.1").unlink()
        self.bad("is not there", "check_docs", *self.tool("  info --help"))


class Vectors(Case):
    def test_good(self):
        self.good("check_vectors")

    def test_changed(self):
        self.tree.write("tests/vectors/set/a.json", "{ }\n")
        self.bad("is not what was recorded", "check_vectors")

    def test_added(self):
        self.tree.write("tests/vectors/set/b.json", "{}\n")
        self.bad("set/b.json is not listed", "check_vectors")

    def test_gone(self):
        (self.tree.root / "tests/vectors/set/a.json").unlink()
        self.bad("set/a.json is listed and not there", "check_vectors")

    def test_origin(self):
        self.tree.write("tests/vectors/other/a.bin", "x")
        self.tree.check("check_vectors", "--update")
        self.bad("no section on the origin of other/", "check_vectors")


class TreeRules(Case):
    def test_good(self):
        self.good("check_tree")

    def test_faults(self):
        note = "TO" + "DO"
        for name, text, expected in [
            ("docs/a.md", "see /wo" + "rk/x/y\n", "somebody's machine"),
            ("docs/a.md", "see /ho" + "me/ann/y\n", "somebody's machine"),
            ("docs/a.md", "from https:/" + "/a.host.test/x\n", "an address"),
            ("src/base/x.c", C + f"/* {note}: more */\n", "without a number"),
            ("src/base/x.c", "int x;\n", "no line"),
            ("tools/x", "#!/bin/sh\n", "no line"),
            ("src/base/x.c", C + "int x; \n", "ends in blanks"),
            ("docs/a.bin", b"\0" * (1 << 20) + b"\0", "larger than"),
            ("src/base/x.o", b"\0", "generated"),
            ("docs/a.md", b"\xff\xfe\n", "neither UTF-8"),
        ]:
            with self.subTest(name=name, expected=expected):
                self.tree.write(name, text)
                self.bad(expected, "check_tree")
                (self.tree.root / name).unlink()

    def test_note_with_number(self):
        self.tree.write("src/base/x.c",
                        C + "/* TO" "DO(#12): more */\n")
        self.good("check_tree")

    def test_ignored_files_do_not_count(self):
        git = ["git", "-C", self.tree.root]
        if not shutil.which("git"):
            self.skipTest("no git")
        subprocess.run([*git, "init", "-q"], check=True)
        self.tree.write(".gitignore", "*.o\n")
        self.tree.write("src/base/x.o", b"\0")
        self.good("check_tree")
        self.tree.write("src/base/x.so", b"\0")
        self.bad("x.so: is a generated file", "check_tree")


class Real(unittest.TestCase):
    def test_every_check_is_tested(self):
        checks = {p.name for p in (TOP / "tools").glob("check_*")}
        tested = {"check_layers", "check_exports", "check_abi", "check_calls",
                  "check_names", "check_docs", "check_vectors", "check_tree",
                  "check_glibc"}
        self.assertEqual(checks, tested)


if __name__ == "__main__":
    unittest.main()
