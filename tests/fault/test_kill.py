# SPDX-License-Identifier: Apache-2.0 OR MIT
"""kill -9, at random moments of a run over 64 files and at every file call of a
smaller one: the next run goes on, loses at most a batch, and completes to the
same bytes with nothing left over."""
import json
import random
import signal
import subprocess
import time

import faults
from faults import Set, check


def kill_after(s, seconds):
    p = subprocess.Popen(s.command(), stdout=subprocess.PIPE)
    try:
        out, _ = p.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        p.send_signal(signal.SIGKILL)
        p.communicate()
        return True
    check(json.loads(out)["status"] == "HF_OK", "run: %s" % out)
    return False


def random_moments(program, shim, kills):
    batch = 200
    s = Set(program, shim, (64, 512, 8192, 512, batch, 1 << 20), workers=2)
    # How long a whole run takes here, so that moments lie all over it.
    begin = time.monotonic()
    s.finish()
    length = time.monotonic() - begin
    done = rounds = 0
    rng = random.Random(7)
    while done < kills:
        s.clear()
        rounds += 1
        while done < kills:
            if not kill_after(s, rng.uniform(0, length / 2)):
                break
            done += 1
            s.check_prefixes()
            stored = s.labels_stored()
            if rng.random() < 0.3:
                result = s.finish()
                check(result["found"] >= stored - batch,
                      "%d labels stored, %d gone on from" %
                      (stored, result["found"]))
                break
        s.finish()
    s.close()
    print("%d kills in %d runs of %.2f s" % (done, rounds, length))


def every_call(program, shim):
    s = Set(program, shim, (4, 60, 1024, 2, 50, 1500))
    n = 0
    while True:
        n += 1
        s.clear()
        s.put({})
        if s.run(kill=n) is not None:
            break
        s.check_prefixes()
        s.finish()
    s.close()
    check(n > 20, "only %d file calls" % n)
    print("killed at each of %d file calls" % (n - 1))


def test(program, shim, full):
    every_call(program, shim)
    random_moments(program, shim, 50 if full else 8)


faults.main(test)
