#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command line, and the modes that only print."""
from kit import *

NAMES = ("commitmentAtxId datadir fraction fromFile genproof id labelsPerUnit "
         "logLevel maxFileSize numUnits printConfig printNumFiles "
         "printProviders provider reset scryptN searchForNonce toFile verify "
         "yes").split()


class Flags(Case):
    def files(self, *more, code=0):
        """-printNumFiles: one number on standard error."""
        r = self.run_tool("-printNumFiles", *more, code=code)
        self.assertEqual(r.out, "")
        return r.err.split()[-1] if code == 0 else r.err

    def test_usage(self):
        for flag in ("-h", "-help", "--help"):
            r = self.run_tool(flag)
            self.assertTrue(r.err.startswith("Usage of "), r.err)
            self.assertEqual(re.findall(r"(?m)^  -(\w+)", r.err), NAMES)
        for part in ('(default 0.2)', '(default 4294967296)', '(default 8192)',
                     '(default info)', 'home/post/data")'):
            self.assertIn(part, r.err)
        for args, words in (
                (["-nope"], "flag provided but not defined: -nope"),
                (["---yes"], "bad flag syntax: ---yes"),
                (["-=3"], "bad flag syntax: -=3"),
                (["-id"], "flag needs an argument: -id"),
                (["-yes=2"], 'invalid boolean value "2" for -yes: parse error'),
                (["-numUnits", "4k"],
                 'invalid value "4k" for flag -numUnits: parse error'),
                (["-numUnits", "-4"],
                 'invalid value "-4" for flag -numUnits: parse error'),
                (["-numUnits", "18446744073709551616"], "value out of range"),
                (["-fromFile", "9223372036854775808"], "value out of range"),
                (["-fraction", "a"], "parse error"),
                (["-logLevel", "loud"], 'unrecognized level: "loud"')):
            r = self.run_tool(*args, code=2)
            self.assertIn(words, r.err.splitlines()[0])
            self.assertIn("Usage of ", r.err)
            self.assertFalse(self.dir.exists())

    def test_numbers(self):
        per_file = ("-labelsPerUnit", 64, "-maxFileSize=1024")
        for text, files in (("16", 16), ("0x10", 16), ("0b11", 3), ("010", 8),
                            ("0o10", 8), ("1_0", 10), ("0", 0), ("0_7", 7)):
            for form in ([f"-numUnits={text}"], ["-numUnits", text],
                         ["--numUnits", text], [f"--numUnits={text}"]):
                self.assertEqual(self.files(*per_file, *form), str(files))
        for text in ("_1", "1_", "1__0", "08", "0x", " 1", "1 ", "+1", ""):
            self.files(*per_file, "-numUnits", text, code=2)
        # Boolean flags take no value of their own.
        self.assertEqual(self.files("-yes", "-reset=false", "-verify=F",
                                    "-numUnits", 4), "64")

    def test_files(self):
        self.assertEqual(self.files(), "0")
        self.assertEqual(self.files("-numUnits", 4), "64")
        self.assertEqual(self.files("-numUnits", 3, "-labelsPerUnit", 500,
                                    "-maxFileSize", 8192), "3")
        self.assertEqual(self.files("-numUnits", 1, "-maxFileSize", 1039,
                                    "-labelsPerUnit", 65), "2")
        self.files("-maxFileSize", 15, code=2)
        self.files("-numUnits", 1 << 40, code=2)

    def test_ignored(self):
        # As Go's flags: the first word that is none ends them.
        r = self.run_tool("-printNumFiles", "-yes", "true", "-numUnits", 4)
        self.assertTrue(r.err.endswith(" 0\n"), r.err)
        self.assertIn('"true" is no flag', r.err)
        r = self.run_tool("-printNumFiles", "--", "-numUnits", 4)
        self.assertIn('"-numUnits" is no flag', r.err)

    def test_providers(self):
        r = self.run_tool("-printProviders", "-datadir", self.dir)
        self.assertRegex(r.out, r"\A\(\[\]postrs\.Provider\) \(len=(\d+) "
                                r"cap=\1\) \{\n \(postrs\.Provider\) \{\n")
        self.assertTrue(r.out.endswith(
            "  ID: (uint32) 4294967295,\n"
            '  Model: (string) (len=17) "[CPU] scrypt-jane",\n'
            "  DeviceType: (postrs.DeviceClass) CPU\n }\n}\n"), r.out)
        self.assertEqual(r.err, "")

    def test_config(self):
        r = self.run_tool("-printConfig", "-datadir", "/a \"b\"", "-toFile", 3,
                          "-provider", 7, "-numUnits", 5)
        out = re.sub(r"0x[0-9a-f]+", "0xADDRESS", r.out)
        self.assertEqual(out, """\
(config.Config) {
 MinNumUnits: (uint32) 4,
 MaxNumUnits: (uint32) 1048576,
 LabelsPerUnit: (uint64) 4294967296,
 K1: (uint) 26,
 K2: (uint) 37,
 PowDifficulty: ([32]uint8) (len=32 cap=32) {
  00000000  00 0d fb 23 b0 97 9b 4b  00 00 00 00 00 00 00 00  |...#...K........|
  00000010  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
 }
}
(config.InitOpts) {
 DataDir: (string) (len=6) "/a \\"b\\"",
 NumUnits: (uint32) 5,
 MaxFileSize: (uint64) 4294967296,
 ProviderID: (*uint32)(0xADDRESS)(7),
 Throttle: (bool) false,
 Scrypt: (config.ScryptParams) {
  N: (uint) 8192,
  R: (uint) 1,
  P: (uint) 1
 },
 ComputeBatchSize: (uint64) 1048576,
 FromFileIdx: (int) 0,
 ToFileIdx: (*int)(0xADDRESS)(3)
}
""")
        self.assertIn("ToFileIdx: (*int)(<nil>)",
                      self.run_tool("-printConfig").out)

    def test_order_of_modes(self):
        modes = ["-printProviders", "-printNumFiles", "-printConfig",
                 "-verify", "-searchForNonce", "-reset"]
        for i, (out, err) in enumerate((
                (r"\A\(\[\]postrs\.Provider\)", r"\A\Z"),
                (r"\A\Z", r" 0\n\Z"),
                (r"\A\(config\.Config\)", r"\A\Z"))):
            r = self.run_tool(*reversed(modes[i:]))
            self.assertRegex(r.out, out)
            self.assertRegex(r.err, err)
        for i, err in ((3, "cli: verifying POS data"),
                       (4, "cli: search for nonce failed")):
            r = self.run_tool("-datadir", self.dir, *reversed(modes[i:]),
                              code=1)
            self.assertIn(err, r.err)
        self.assertFalse(self.dir.exists())

    def test_log_level(self):
        def lines(level):
            shutil.rmtree(self.dir, ignore_errors=True)
            self.dir.mkdir(0o700)
            r = self.make("-logLevel", level)
            for line in r.out.splitlines():
                self.assertRegex(line, r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
                                       r"\t(DEBUG|INFO|WARN|ERROR)\t.")
            self.assertIn("cli: initialization completed", r.err)
            return r.out
        self.assertIn("\tINFO\t", lines("info"))
        self.assertIn("\tINFO\t", lines("DEBUG"))
        self.assertEqual([lines(x) for x in ("warn", "error", "dpanic", "panic",
                                             "fatal")], [""] * 5)


if __name__ == "__main__":
    unittest.main()
