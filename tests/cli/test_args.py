#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command line: help, options, values, errors of usage."""
from kit import *

COMMANDS = ["space init", "space status", "space vrf-nonce", "space prove",
            "space verify", "space bench", "info"]


class Help(Case):
    def test_overview(self):
        r = self.run_tool("help")
        for command in COMMANDS:
            self.assertRegex(r.out, rf"(?m)^  {command}\b")
        self.assertEqual(r.err, "")
        self.assertEqual(self.run_tool("--help").out, r.out)
        self.assertEqual(self.run_tool("-h").out, r.out)
        self.assertEqual(self.run_tool("help", "space").out, r.out)
        self.assertEqual(self.run_tool("space", "--help").out, r.out)

    def test_each_command(self):
        for command in COMMANDS:
            words = command.split()
            r = self.run_tool(*words, "--help")
            self.assertIn(f"usage: holdfast {command}", r.out)
            self.assertEqual(self.run_tool("help", *words).out, r.out)
            self.assertEqual(self.run_tool(*words, "x", "-h",
                                           "--nonsense").out, r.out)
            for option in re.findall(r"(?m)^  (--[\w-]+)(.*)$", r.out):
                self.assertTrue(option[1].strip() or option[0] in
                                ("--json", "--quiet"), option)

    def test_fits_the_screen(self):
        for command in ["", *COMMANDS]:
            for line in self.run_tool("help", *command.split()).out.split("\n"):
                self.assertLessEqual(len(line), 80, line)
                self.assertEqual(line, line.rstrip())

    def test_version(self):
        self.assertRegex(self.run_tool("--version").out,
                         r"^holdfast \d+\.\d+\.\d+\n$")

    def test_nothing(self):
        r = self.run_tool(code=2)
        self.assertEqual(r.out, "")
        self.assertIn("try: holdfast help", r.err)


class Mistakes(Case):
    def wrong(self, *args, says=(), code=2):
        r = self.run_tool(*args, code=code)
        self.assertEqual(r.out, "")
        self.assertTrue(r.err.startswith("holdfast: "), r.err)
        for text in says:
            self.assertIn(text, r.err)
        self.assertEqual(list(self.tmp.iterdir()), [])
        return r

    def test_commands(self):
        self.wrong("spcae", says=["spcae", "try: holdfast space"])
        self.wrong("space", "inti", "x", says=["inti", "holdfast space init"])
        self.wrong("space", says=["vrf-nonce"])
        self.wrong("ifno", says=["holdfast info"])
        self.wrong("xyzzy", says=["holdfast help"])

    def test_suggestions(self):
        for typed, meant in [("--unit", "--units N"), ("--untis", "--units N"),
                             ("--commitment", "--commitment-atx ID"),
                             ("--scryptn", "--scrypt-n N"),
                             ("--form-file", "--from-file I"),
                             ("--treads", "--threads T")]:
            self.wrong("space", "init", "x", typed, "1",
                       says=[typed, f"try: {meant}"])
        self.wrong("space", "init", "x", "--frobnicate",
                   says=["--frobnicate", "try: holdfast help space init"])
        self.wrong("space", "init", "x", "--challenge", ID,
                   says=["space init has no option --challenge"])
        self.wrong("space", "init", "x", "-u", "3", says=["-u"])

    def test_forms(self):
        self.wrong("space", "init", "x", "--units", says=["needs a value"])
        self.wrong("space", "init", "x", "--id", "--units", "4",
                   says=["--id needs a value"])
        self.wrong("space", "init", "x", "--units", "1", "--units=2",
                   says=["--units is given twice"])
        self.wrong("space", "init", "x", "--new-id=yes",
                   says=["--new-id takes no value"])
        self.wrong("space", "init", says=["DIR"])
        self.wrong("space", "init", "x", "y", says=["x", "y"])
        self.wrong("space", "init", "", says=["DIR is empty"])
        self.wrong("info", "x", says=["takes no x"])
        self.wrong("space", "verify", "x", "--proof=", says=["--proof"])

    def test_numbers(self):
        def bad(command, option, *values):
            for value in values:
                r = self.wrong(*command.split(), "x", option, value,
                               says=[f"{option} {value[:20]}"])
                self.assertRegex(r.err, r"from \d+ to \d+|at least")
        bad("space init", "--units", "0", "-1", "4294967296", "1.5", "4 ",
            "0x10", "", "four", "99999999999999999999999")
        bad("space init", "--scrypt-n", "0", "1", "3", "8191", "2147483648")
        bad("space init", "--threads", "1025", "-1", "all")
        bad("space init", "--from-file", "4294967295")
        bad("space init", "--max-file-size", "1023")
        bad("space init", "--memory", "1023KiB")
        bad("space prove", "--k1", "4294967296", "-1")
        bad("space verify", "--subset", "4294967296")

    def test_nonces(self):
        # The rule is said, and nothing is rounded in silence.
        for value in ["0", "8", "20", "4294967296", "4112", "-16"]:
            self.wrong("space", "prove", "x", "--challenge", CHALLENGE,
                       "--nonces", value,
                       says=[value, "a multiple of 16, from 16 to 4096"])

    def test_sizes_and_times(self):
        for value in ["TiB", "1.TiB", "1..5GiB", "8 XiB", "1e3", "-1", "1Kb2",
                      "99999999999TiB", "0x10"]:
            self.wrong("space", "init", "x", "--max-file-size", value,
                       says=["--max-file-size"])
        for value in ["1y", "h", "1.h", "-1s", "0"]:
            self.wrong("space", "init", "x", "--deadline", value,
                       says=["--deadline"])

    def test_ids(self):
        for value in ["11" * 31, "11" * 33, "zz" * 32, "0x" + "11" * 31,
                      "A" * 43, "A" * 44, "A" * 42 + "B=",
                      "A" * 43 + "=="]:
            self.wrong("space", "init", "x", "--id", value,
                       says=["--id", "64 hex digits", "44 characters of base64"])

    def test_exclusive(self):
        self.wrong("space", "init", "x", "--id", ID, "--new-id",
                   says=["--id", "--new-id"])
        self.wrong("space", "init", "x", "--units", "1", "--size", "1TiB",
                   says=["--units", "--size"])
        self.wrong("space", "init", "x", "--from-file", "2", "--to-file", "1",
                   says=["--to-file 1", "--from-file 2"])
        self.wrong("space", "verify", "x", "--metadata", "y", "--proof", "z",
                   says=["DIR", "--metadata"])
        self.wrong("space", "verify", "--proof", "z",
                   says=["DIR or --metadata"])
        self.wrong("space", "verify", "x", says=["--proof"])
        self.wrong("space", "verify", "x", "--proof", "z", "--subset", "3",
                   says=["--seed"])
        self.wrong("space", "verify", "x", "--proof", "z", "--seed", "00",
                   says=["--subset"])
        self.wrong("space", "verify", "x", "--proof", "z", "--subset", "3",
                   "--seed", "abc", says=["--seed abc", "hex"])
        self.wrong("space", "prove", "x", says=["--challenge"])
        self.wrong("space", "prove", "x", "--challenge", CHALLENGE, "--k2",
                   "0", says=["--k2 0", "at least 1"])
        self.wrong("space", "prove", "x", "--challenge", CHALLENGE,
                   "--randomx", "full", says=["auto|fast|light"])

    def test_new_set_is_described(self):
        self.wrong("space", "init", "x", says=[
            "--id (or --new-id), --commitment-atx, --units (or --size)"])
        self.wrong("space", "init", "x", "--new-id", "--size", "1TiB",
                   says=["a new set needs --commitment-atx"])

    def test_provider(self):
        for value in ["7", "gpu", "CPU"]:
            self.wrong("space", "init", "x", "--id", ID, "--commitment-atx",
                       ATX, "--units", "4", "--provider", value,
                       says=[value, "those there are: cpu"])

    def test_kernel(self):
        r = self.wrong("info", "--kernel", "sse9", says=["sse9"])
        self.assertEqual(r.code, 2)

    def test_json(self):
        r = self.run_tool("space", "init", "x", "--units", "0", "--json",
                          code=2)
        self.assertEqual(r.err, "")
        self.assertEqual(r.last("error"), {
            "code": "HF_E_ARGUMENT",
            "message": "--units 0: must be a whole number from 1 to "
                       "4294967295",
            "cause": "", "file": None, "offset": None, "retry": "never"})


class Values(Case):
    def plan(self, *more):
        r = self.run_tool("space", "init", self.dir, "--commitment-atx", ATX,
                          "--dry-run", "--json", *more)
        self.assertFalse(self.dir.exists())
        return r.last("done")

    def test_ids_in_three_forms(self):
        raw = bytes(range(200, 232))
        forms = [raw.hex(), raw.hex().upper(), "0x" + raw.hex(),
                 base64.b64encode(raw).decode()]
        for form in forms:
            plan = self.plan("--id", form, "--units=1",
                             "--labels-per-unit=1024")
            self.assertEqual(plan["node_id"], raw.hex())

    def test_ids_are_shown_as_hex(self):
        raw = bytes(range(32))
        r = self.run_tool("space", "init", self.dir, "--commitment-atx", ATX,
                          "--dry-run", "--units", 1, "--labels-per-unit", 64,
                          "--id", base64.b64encode(raw).decode())
        self.assertIn(raw.hex(), r.out)

    def test_size_gives_units(self):
        for size, labels, units in [
                ("1MiB", 1024, 64), ("1 MiB", 1024, 64), ("1M", 1024, 64),
                ("1048576", 1024, 64), ("1MB", 1000, 62),
                ("1.5KiB", 32, 3), ("1500", 32, 2)]:
            plan = self.plan("--id", ID, "--size", size, "--labels-per-unit",
                             labels)
            self.assertEqual(plan["num_units"], units, size)

    def test_rounding_is_said(self):
        r = self.run_tool("space", "init", self.dir, "--id", ID,
                          "--commitment-atx", ATX, "--size", "1MB",
                          "--labels-per-unit", 1000, "--dry-run")
        self.assertIn("rounded down to 62 units", r.err)
        r = self.run_tool("space", "init", self.dir, "--id", ID,
                          "--commitment-atx", ATX, "--size", "1MB", code=2)
        self.assertIn("less than one unit, which is 64 GiB", r.err)

    def test_dry_run_shows_all(self):
        r = self.run_tool("space", "init", self.dir, "--id", ID,
                          "--commitment-atx", ATX, "--units", 2,
                          "--labels-per-unit", 4096, "--max-file-size",
                          "16KiB", "--dry-run")
        for text in [ID, ATX, "2 of 64 KiB", "128 KiB in 8 files", "8192",
                     "to write", "memory", "time", "kernel"]:
            self.assertIn(text, r.out)
        self.assertNotIn("too little", r.out)
        self.assertFalse(self.dir.exists())
        # More than any disk of today has.
        r = self.run_tool("space", "init", self.dir, "--id", ID,
                          "--commitment-atx", ATX, "--units", 1 << 20,
                          "--dry-run", "--max-file-size", "1PiB")
        self.assertRegex(r.out, "to write +64 PiB, .*: too little\n")


class Output(Case):
    def test_full_disk(self):
        for args in [("help",), ("--version",), ("info",),
                     ("info", "--json")]:
            with open("/dev/full", "wb") as full:
                p = self.start(*args, stdout=full)
                r = self.finish(p)
            self.assertEqual(r.code, 4, args)
            self.assertIn("No space left", r.err)

    def test_closed(self):
        p = self.start("info", stdout=None, preexec_fn=lambda: os.close(1))
        self.assertEqual(self.finish(p).code, 4)

    def test_nothing_open(self):
        # A file must not become standard output, whatever was closed.
        def close_all():
            for fd in (0, 1, 2):
                os.close(fd)
        p = self.start("space", "init", self.dir, "--id", ID,
                       "--commitment-atx", ATX, "--units", 1,
                       "--labels-per-unit", 256, "--scrypt-n", 2,
                       stdin=None, stdout=None, stderr=None,
                       preexec_fn=close_all)
        self.assertEqual(p.wait(GUARD), 4)
        self.assertEqual((self.dir / "postdata_0.bin").stat().st_size, 4096)
        meta = json.loads((self.dir / "postdata_metadata.json").read_text())
        self.assertEqual(meta["NumUnits"], 1)

    def test_info(self):
        info = self.run_tool("info", "--json", "--threads", 2,
                             "--kernel", "portable").last("done")
        self.assertEqual(info["workers"], 2)
        self.assertEqual(info["workers_from"], "option")
        self.assertEqual(info["label_kernel"], "portable")
        self.assertEqual(info["aes_kernel"], "portable")
        text = self.run_tool("info", "--threads", 2).out
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertIn("(from: option)", text)

    def test_bench(self):
        r = self.run_tool("space", "bench", "--json", "--scrypt-n", 64,
                          "--duration", "100ms", "--quiet")
        done = r.last("done")
        self.assertGreater(done["labels_per_second"], 0)
        self.assertEqual(done["scrypt_n"], 64)
        text = self.run_tool("space", "bench", "--scrypt-n", 64,
                             "--duration", "100ms").out
        self.assertRegex(text, r"labels/s at N = 64\n")


if __name__ == "__main__":
    unittest.main()
