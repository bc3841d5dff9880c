#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a person sees: one line rewritten in place, or plain lines."""
import fcntl
import pty
import struct
import termios

from kit import *

LABELS, N = 1 << 17, 256


class Terminal(Case):
    def watch(self, columns, **env):
        """Standard error of an initialisation on a terminal."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, columns, 0, 0))
        p = self.start("space", "init", self.dir, "--id", ID,
                       "--commitment-atx", ATX, "--units", 1,
                       "--labels-per-unit", LABELS, "--scrypt-n", N,
                       "--threads", 1, stdout=subprocess.DEVNULL,
                       stderr=theirs, env=environment(**env))
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                part = b""
            if not part:
                break
            seen += part
        os.close(ours)
        self.assertEqual(p.wait(GUARD), 0)
        return seen.decode()

    def frames(self, seen):
        """The states of the progress line, colours taken away."""
        plain = re.sub(r"\x1b\[[0-9;]*m", "", seen)
        return re.findall(r"\r(labels [^\r\n\x1b]*)\x1b\[K", plain)

    def test_one_line(self):
        seen = self.watch(100, TERM="xterm")
        frames = self.frames(seen)
        self.assertGreater(len(frames), 2)
        for frame in frames:
            self.assertLess(len(frame), 100)
            self.assertRegex(frame, r"^labels +\d+\.\d %")
        self.assertTrue(any("labels/s" in f and "left" in f for f in frames))
        self.assertTrue(any("MiB" in f for f in frames))
        # Each frame is drawn over the last one; at the end it is gone.
        body = seen[seen.index("\rlabels"):seen.rindex("\x1b[K")]
        self.assertNotIn("\n", body)
        self.assertIn("\x1b[32m", seen)

    def test_narrow(self):
        for columns in (60, 40, 24, 10):
            self.dir = self.tmp / str(columns)
            for frame in self.frames(self.watch(columns, TERM="xterm")):
                self.assertLess(len(frame), columns)
                self.assertTrue(frame.startswith("labels"))
            shutil.rmtree(self.dir)

    def test_no_color(self):
        seen = self.watch(100, TERM="xterm", NO_COLOR="1")
        self.assertGreater(len(self.frames(seen)), 2)
        self.assertNotRegex(seen, r"\x1b\[[0-9;]*m")

    def test_dumb(self):
        for term in ("dumb", ""):
            self.dir = self.tmp / f"dumb{term}"
            seen = self.watch(100, TERM=term)
            self.assertNotIn("\x1b", seen)

    def test_ascii(self):
        seen = self.watch(100, TERM="xterm", LC_ALL="C")
        self.assertGreater(len(self.frames(seen)), 2)
        seen.encode("ascii")
        self.assertIn("#", seen)


class Plain(Case):
    def init(self, *more, n=N):
        return self.run_tool(
            "space", "init", self.dir, "--id", ID, "--commitment-atx", ATX,
            "--units", 1, "--labels-per-unit", 2 * LABELS, "--scrypt-n", n,
            "--threads", 1, *more)

    def test_lines(self):
        r = self.init(n=4 * N)  # some seconds anywhere
        self.assertNotIn("\r", r.err)
        self.assertNotIn("\x1b", r.err + r.out)
        lines = [x for x in r.err.splitlines() if x.startswith("labels ")]
        self.assertLessEqual(len(lines), 10)
        self.assertTrue(lines)
        for line in lines:
            self.assertRegex(line, r"^labels +\d+\.\d %  .* of 4 MiB")

    def test_quiet(self):
        r = self.init("--quiet")
        self.assertRegex(r.out, r"^complete: 4 MiB written")
        self.assertEqual([x for x in r.err.splitlines()
                          if not x.startswith("warning: ")], [])

    def test_json(self):
        r = self.init("--json")
        self.assertEqual(r.err, "")
        kinds = [next(iter(o)) for o in r.lines()]
        self.assertEqual(kinds[-1], "done")
        self.assertEqual(kinds.count("done"), 1)
        self.assertIn("plan", kinds)
        progress = [o["progress"] for o in r.lines() if "progress" in o]
        self.assertTrue(progress)
        for p in progress:
            self.assertEqual(sorted(p), sorted(
                ["phase", "unit", "done", "total", "percent", "rate",
                 "elapsed_ms", "remaining_ms"]))
        labels = [p for p in progress if p["phase"] == "labels"]
        self.assertEqual([p["done"] for p in labels],
                         sorted(p["done"] for p in labels))
        self.assertTrue(all(p["total"] == 2 * LABELS for p in labels))

    def test_hostile_names(self):
        # What files say is shown, but never obeyed by the terminal.
        name = "a\x1b[2Jb"
        r = self.run_tool("space", "status", name, code=4)
        self.assertNotIn("\x1b", r.err)
        r = self.run_tool("space", "status", name, "--json", code=4)
        self.assertNotIn("\x1b", r.out)
        bad = os.fsdecode(b"\xff\xfe")
        r = self.run_tool("space", "status", bad, "--json", code=4)
        self.assertIn("no folder", r.last("error")["message"])

    def test_names_stay_in_their_line(self):
        for name in ["a\nb", "a\x1b[31mb", "a\u009b31mb", "a\rb",
                     os.fsdecode(b"a\xffb")]:
            r = self.make(name)
            self.assertIn("A new set in a?", r.err)
            r = self.run_tool("space", "status", name)
            self.assertRegex(r.out, r"\Aa\?.*b: complete\n")
            r = self.run_tool("space", "init", name, "--id", "0" * 64, code=3)
            for line in r.err.splitlines():
                self.assertRegex(line, "^holdfast: |^  (why|try): ")
            # What goes on is the same folder, as the shell reads it.
            r = self.run_tool("space", "init", "x" + name, "--id", ID,
                              "--commitment-atx", ATX, "--units", 1,
                              "--labels-per-unit", 1 << 22, "--deadline",
                              "300ms", "--threads", 1, code=6)
            again = re.search("to go on: (.*)", r.err).group(1)
            self.assertNotRegex(again, "[\x00-\x1f\x7f-\x9f]")
            words = subprocess.run(
                ["bash", "-c", "printf '%s\\0' " + again],
                capture_output=True, timeout=GUARD).stdout.split(b"\0")
            self.assertEqual(words[3], os.fsencode("x" + name))


if __name__ == "__main__":
    unittest.main()
