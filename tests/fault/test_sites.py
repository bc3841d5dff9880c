# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Every file call of an initialisation fails in turn: nothing is lost, the
error says which file, the next run completes to the same bytes."""
import errno
import os

import faults
from faults import META, Set, check

ERRORS = {
    "create": [errno.ENOSPC, errno.EACCES],
    "write": [errno.ENOSPC, errno.EIO, errno.EFBIG],
    "sync": [errno.EIO, errno.ENOSPC],
    "rename": [errno.EIO, errno.ENOSPC],
    "truncate": [errno.EIO],
    "remove": [errno.EIO],
}


def count_calls(s, start):
    """How many calls of each kind an undisturbed run makes."""
    log = os.path.join(s.root, "log")
    s.put(start)
    s.run(log=log)
    s.check_complete()
    count = dict.fromkeys(ERRORS, 0)
    data = s.read(log)
    os.remove(log)
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        word = data[at:end].split()
        at = end + 1
        kind = word[0].decode()
        if kind == "write":
            at += int(word[3])
        count["sync" if kind == "syncdir" else kind] += 1
    return count


def fail_once(s, start, kind, n, code, how):
    s.put(start)
    old = start.get(META)
    where = "%s call %d, errno %d%s" % (kind, n, code, how)
    try:
        result = s.run(fail="%s:%d:%d%s" % (kind, n, code, how))
        check(result is not None, "killed")
        if result["status"] == "HF_OK":
            # Only what does not matter may fail unseen.
            check(kind == "remove", "the failure went unnoticed")
        else:
            check(result["status"] == "HF_E_IO", "status: %s" % result)
            text = result["message"] + result["cause"]
            check(s.dir in text or "postdata_" in text, "no file: %s" % text)
            check(os.strerror(code) in text, "no cause: %s" % text)
        s.check_prefixes(start)
        s.check_meta(old)
        if kind != "remove":
            left = [f for f in s.files() if f.endswith(".tmp")]
            check(not left, "left behind: %s" % left)
        s.finish()
    except faults.Failure as e:
        raise faults.Failure("%s: %s" % (where, e)) from None


def sweep(s, start):
    tried = 0
    for kind, calls in count_calls(s, start).items():
        for n in range(1, calls + 1):
            for code in ERRORS[kind]:
                ways = ["", ":on"]
                if kind == "write":
                    ways += [":half", ":half,on"]
                for how in ways:
                    fail_once(s, start, kind, n, code, how)
                    tried += 1
    return tried


def test(program, shim, full):
    # Five files, a batch over several of them and several in one.
    shape = (5, 40, 1024, 2, 48, 1500) if full else (3, 50, 1024, 2, 60, 1500)
    s = Set(program, shim, shape)
    tried = sweep(s, {})
    # Going on from a crash: something to cut, something to check, a temporary.
    names = sorted(n for n in s.expected if n.endswith(".bin"))
    start = {META: s.expected[META],
             "holdfast.json": b'{"version": 1, "scrypt_n": 2, '
                              b'"pending": [[0, 150]]}',
             "." + META + ".tmp": b"{",
             names[0]: s.expected[names[0]],
             names[1]: s.expected[names[1]][:300] + b"\0" * 200}
    tried += sweep(s, start)
    s.close()
    print("%d failures, each gone on from to the same bytes" % tried)


faults.main(test)
