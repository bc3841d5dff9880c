#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""-genproof on a set of the reference tool: at the network's difficulty."""
from kit import *


class Proof(Case):
    def test_after_init(self):
        folder = self.vector("a-4files-even")
        before = digest(folder)
        p = self.start("-datadir", folder, *flags_of("a-4files-even"), "-yes",
                       "-genproof")
        out, err = p.communicate(timeout=3500)
        r = err.decode()
        self.assertEqual(p.returncode, 0, out.decode() + r)
        said = [line[20:] for line in r.splitlines() if "cli:" in line]
        self.assertEqual(said, ["cli: initialization completed",
                                "cli: generating proof as a sanity test",
                                "cli: proof is valid"])
        self.assertEqual(digest(folder), before)


if __name__ == "__main__":
    unittest.main()
