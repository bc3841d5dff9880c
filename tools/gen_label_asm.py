#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""gen_label_asm.py avx2|avx512: writes src/kernel/label_ISA.S to standard output. Compilers spill in these loops, each in its own way; generated code is
the same under all of them.

avx512: the mixing step of one set of 16 labels in columns (word w of 16 labels
is one register), alone and with the data movement of another set woven in:

  step  nothing else;
  fill  the step, while the state of the set finished before is transposed and
        streamed to V;
  mix   the step, while the rows of V that the next set has to take in are
        transposed and added to its state, and the rows that the set finished
        before reads next are found and prefetched.

The rounds alone leave a fifth of the vector slots idle, as they wait for their
own results; the other stream fits there.
Registers: zmm0-15 state, zmm16-20 transposition, zmm21-31 the words to be added
at the end of a block (the other five wait in memory).
Arguments: rdi set, rsi set finished before, rdx set that comes next (mix) or
place in V (fill), rcx work space of 2 KiB.

avx2: one function, the mixing step of one set of eight labels in columns.
Sixteen registers do not hold sixteen words and what rotations need, so two
words of row c are always in memory: a round does the two columns whose c is at
hand, changes the pair, and does the other two; the next round begins with the
pair that is there.
Registers: ymm0-3 row a, ymm4-7 row b, ymm8-11 row d, ymm12-13 half of row c,
ymm14-15 for rotations.
Arguments: rdi set, rsi work space of 1 KiB.
"""

import sys

COLUMNS = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
DIAGONALS = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]

# Offsets into a set; the C file asserts them.
V, MASK, ROW = 2048, 2056, 2064

# Words in the order in which the first round wants them.
ORDER = (0, 4, 12, 1, 5, 13, 8, 9, 2, 6, 14, 3, 7, 15, 10, 11)
FEED_REGISTERS = 11
FEED = {w: 31 - i for i, w in enumerate(ORDER[:FEED_REGISTERS])}


def z(register):
    return f"%zmm{register}"


def feed_at(word):
    return z(FEED[word]) if word in FEED else f"{64 * word}(%rcx)"


def rounds():
    """Eight rounds. Words are read from their feed register until written."""
    code, written = [], set()

    def source(word):
        return z(word if word in written or word not in FEED else FEED[word])

    for number in range(8):
        quarters = DIAGONALS if number % 2 else COLUMNS
        for to, by, turned, left in ((0, 1, 3, 16), (2, 3, 1, 12),
                                     (0, 1, 3, 8), (2, 3, 1, 7)):
            for pair in (quarters[:2], quarters[2:]):
                for q in pair:
                    code.append(f"vpaddd {source(q[by])},{source(q[to])},"
                                f"{z(q[to])}")
                    written.add(q[to])
                for q in pair:
                    code.append(f"vpxord {z(q[to])},{source(q[turned])},"
                                f"{z(q[turned])}")
                    written.add(q[turned])
                for q in pair:
                    code.append(f"vprold ${left},{z(q[turned])},"
                                f"{z(q[turned])}")
    return code


def keep_feed(word, register):
    if word in FEED:
        return []
    return [f"vmovdqa32 {z(register)},{64 * word}(%rcx)"]


def step():
    """Both blocks of the set at rdi: x0 = C(x0 ^ x1), x1 = C(x1 ^ x0)."""
    code = []
    for w in ORDER:
        r = FEED.get(w, w)
        code += [f"vmovdqa32 {64 * w}(%rdi),{z(r)}",
                 f"vpxord {1024 + 64 * w}(%rdi),{z(r)},{z(r)}"]
        code += keep_feed(w, r)
    code += rounds()
    for w in ORDER:
        r = FEED.get(w, w)
        code += [f"vpaddd {feed_at(w)},{z(w)},{z(w)}",
                 f"vmovdqa32 {z(w)},{64 * w}(%rdi)",
                 f"vpxord {1024 + 64 * w}(%rdi),{z(w)},{z(r)}"]
        code += keep_feed(w, r)
    code += rounds()
    for w in ORDER:
        code += [f"vpaddd {feed_at(w)},{z(w)},{z(w)}",
                 f"vmovdqa32 {z(w)},{1024 + 64 * w}(%rdi)"]
    return code


def transpose4(m, spare):
    """4 x 4 words within each quarter; returns code and result registers."""
    a, b, c, d = m
    t = spare
    code = []
    for op, x, y, to in (("ldq", a, b, t), ("hdq", a, b, a),
                         ("ldq", c, d, b), ("hdq", c, d, c),
                         ("lqdq", t, b, d), ("hqdq", t, b, t),
                         ("lqdq", a, c, b), ("hqdq", a, c, a)):
        code.append(f"vpunpck{op} {z(y)},{z(x)},{z(to)}")
    return code, (d, t, b, a)


def masks():
    """k1 to k3: quarter 1 to 3 of a register."""
    code = []
    for k in (1, 2, 3):
        code += [f"mov ${0xf << 4 * k:#x},%eax", f"kmovw %eax,%k{k}"]
    return code


def gather(to, quarter, address):
    """16 bytes into one quarter: masked broadcasts need no shuffle unit."""
    if quarter == 0:
        return f"vmovdqa32 {address},%xmm{to}"
    return f"vbroadcasti32x4 {address},{z(to)}{{%k{quarter}}}"


def stream(block):
    """Block of the set at rsi to V at rdx: label l to 128 * l."""
    code, work = [], 1024
    for g in range(4):
        for i in range(4):
            code.append(f"vmovdqa32 {1024 * block + 64 * (4 * g + i)}(%rsi),"
                        f"{z(16 + i)}")
        c, result = transpose4((16, 17, 18, 19), 20)
        code += c
        for i in range(4):
            code.append(f"vmovdqa32 {z(result[i])},"
                        f"{work + 64 * (4 * g + i)}(%rcx)")
    for l in range(16):
        q, i = divmod(l, 4)
        r = 16 + l % 5
        for g in range(4):
            code.append(gather(r, g, f"{work + 64 * (4 * g + i) + 16 * q}"
                                     "(%rcx)"))
        code.append(f"vmovntdq {z(r)},{128 * l + 64 * block}(%rdx)")
    return code


def take_in(block):
    """Adds that block of each label's row to the set at rdx."""
    code = []
    for g in range(4):
        for q in range(4):
            for i in range(4):
                l, p = 4 * q + i, ("%r10", "%r11")[i % 2]
                code.append(f"mov {ROW + 8 * l}(%rdx),{p}")
                code.append(gather(16 + i, q,
                                   f"{128 * l + 64 * block + 16 * g}({p})"))
        c, result = transpose4((16, 17, 18, 19), 20)
        code += c
        for i in range(4):
            at = f"{1024 * block + 64 * (4 * g + i)}(%rdx)"
            code += [f"vpxord {at},{z(result[i])},{z(result[i])}",
                     f"vmovdqa32 {z(result[i])},{at}"]
    return code


def find_rows():
    """Rows the set at rsi reads next; r8 its V, r9d N - 1."""
    code = [f"mov {V}(%rsi),%r8", f"mov {MASK}(%rsi),%r9d"]
    for l in range(16):
        code += [f"mov {1024 + 4 * l}(%rsi),%eax", "and %r9d,%eax",
                 "shl $11,%rax", "add %r8,%rax",
                 f"mov %rax,{ROW + 8 * l}(%rsi)",
                 f"prefetcht1 {128 * l}(%rax)",
                 f"prefetcht1 {128 * l + 64}(%rax)"]
    return code


def weave(main, other, until=0.97):
    """Spreads `other` evenly over the first part of `main`."""
    span, code, at = int(len(main) * until), [], 0
    for i, line in enumerate(main):
        code.append(line)
        want = len(other) * (i + 1) // span if i < span else len(other)
        code += other[at:want]
        at = max(at, want)
    return code


def function(name, code):
    print(f"    .p2align 6\n    .globl {name}\n    .hidden {name}\n"
          f"    .type {name},@function\n{name}:")
    for line in code + ["vzeroupper", "ret"]:
        print(f"    {line}")
    print(f"    .size {name},.-{name}\n")


FIND_UNTIL = 0.5


def avx512():
    main_code = step()
    function("hfi_label_avx512_step", main_code)
    function("hfi_label_avx512_fill",
             masks() + weave(main_code, stream(0) + stream(1)))
    moves = weave(take_in(0) + take_in(1), find_rows(), FIND_UNTIL)
    function("hfi_label_avx512_mix", masks() + weave(main_code, moves))


def y(word):
    if word < 8:
        return f"%ymm{word}"
    if word < 12:
        return f"%ymm{12 + word % 2}"
    return f"%ymm{word - 4}"


def y_rotate(words, left):
    registers = [y(w) for w in words]
    if left % 8 == 0:
        return [f"vpshufb .Lrol{left}(%rip),{r},{r}"
                for r in registers]
    temps = ("%ymm14", "%ymm15")
    code = [f"vpslld ${left},{r},{t}" for r, t in zip(registers, temps)]
    code += [f"vpsrld ${32 - left},{r},{r}" for r in registers]
    code += [f"vpor {t},{r},{r}" for r, t in zip(registers, temps)]
    return code


def y_rounds():
    """Words 10 and 11 begin in the feed, then live in slots behind it."""
    code = []
    for number in range(8):
        quarters = DIAGONALS if number % 2 else COLUMNS
        for half in (0, 1):
            pair = quarters[2 * half:2 * half + 2]
            if half:
                away, here = ((10, 11), (8, 9)) if number % 2 else \
                             ((8, 9), (10, 11))
                for w in away:
                    code.append(f"vmovdqa {y(w)},{32 * (8 + w)}(%rsi)")
                for w in here:
                    at = w if number == 0 else 8 + w
                    code.append(f"vmovdqa {32 * at}(%rsi),{y(w)}")
            for to, by, turned, left in ((0, 1, 3, 16), (2, 3, 1, 12),
                                         (0, 1, 3, 8), (2, 3, 1, 7)):
                code += [f"vpaddd {y(q[by])},{y(q[to])},{y(q[to])}"
                         for q in pair]
                code += [f"vpxor {y(q[to])},{y(q[turned])},{y(q[turned])}"
                         for q in pair]
                code += y_rotate([q[turned] for q in pair], left)
    return code


# The words in memory last: their registers are free by then.
Y_ORDER = (0, 4, 12, 1, 5, 13, 2, 6, 14, 3, 7, 15, 8, 9, 10, 11)


def y_register(word):
    return f"%ymm{word + 4}" if word in (10, 11) else y(word)


def y_end(slot_words=(10, 11)):
    code = []
    for w in Y_ORDER:
        r = y_register(w)
        if w in slot_words:
            code.append(f"vmovdqa {32 * (8 + w)}(%rsi),{r}")
        code.append(f"vpaddd {32 * w}(%rsi),{r},{r}")
        yield w, r, code
        code = []


def avx2():
    print("    .section .rodata\n    .p2align 5")
    for left in (16, 8):
        print(f".Lrol{left}:")
        for lane in (0, 4, 8, 12) * 2:
            order = [lane + (byte - left // 8) % 4 for byte in range(4)]
            print(f"    .byte {','.join(map(str, order))}")
    print("    .text\n")
    code = []
    for w in Y_ORDER:
        r = y_register(w)
        code += [f"vmovdqa {32 * w}(%rdi),{r}",
                 f"vpxor {512 + 32 * w}(%rdi),{r},{r}",
                 f"vmovdqa {r},{32 * w}(%rsi)"]
    code += y_rounds()
    for w, r, end in y_end():
        code += end + [f"vmovdqa {r},{32 * w}(%rdi)",
                       f"vpxor {512 + 32 * w}(%rdi),{r},{r}",
                       f"vmovdqa {r},{32 * w}(%rsi)"]
    code += y_rounds()
    for w, r, end in y_end():
        code += end + [f"vmovdqa {r},{512 + 32 * w}(%rdi)"]
    function("hfi_label_avx2_step", code)


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 OR MIT */")
    print("/* Written by tools/gen_label_asm.py; not to be edited. */\n")
    print("    .text\n")
    {"avx2": avx2, "avx512": avx512}[sys.argv[1]]()
    print('    .section .note.GNU-stack,"",@progbits')


if __name__ == "__main__":
    main()
