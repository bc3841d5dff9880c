#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""gen_label_asm.py avx2|avx512: writes src/kernel/label_ISA.S to standard
output. Compilers spill in these loops, each in its own way; generated code is
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

avx2: the mixing step of one set of eight labels in columns:

  fill       the state is streamed to V first;
  mix_alone  the rows found are added to the state first;
  mix        the same, and the rows that another set reads next are found and
             prefetched during the rounds, so that these wait for nothing.

Registers: fifteen words and ymm15 for rotations; one word waits in memory.
Arguments: rdi set, rsi the other one (mix) or place in V (fill), rdx work space
of 1 KiB.
"""

import sys

COLUMNS = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
DIAGONALS = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]

# Offsets into a set behind its state; the C files assert them.
V, MASK, ROW = 0, 8, 16

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


def step(added=False):
    """Both blocks of the set at rdi: x0 = C(x0 ^ x1), x1 = C(x1 ^ x0).

    added: x0 ^ x1 is in the place of x0 already.
    """
    code = []
    for w in ORDER:
        r = FEED.get(w, w)
        code.append(f"vmovdqa32 {64 * w}(%rdi),{z(r)}")
        if not added:
            code.append(f"vpxord {1024 + 64 * w}(%rdi),{z(r)},{z(r)}")
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
    width = "y" if quarter == 1 else "z"  # ymm costs half as much
    return f"vbroadcasti32x4 {address},%{width}mm{to}{{%k{quarter}}}"


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
        for g in (0, 2):
            r = 16 + (2 * l + g // 2) % 5
            at = work + 64 * (4 * g + i) + 16 * q
            code += [gather(r, 0, f"{at}(%rcx)"),
                     gather(r, 1, f"{at + 256}(%rcx)"),
                     f"vmovntdq %ymm{r},{128 * l + 64 * block + 16 * g}(%rdx)"]
    return code


def take_in(block):
    """Adds that block of each label's row to the set at rdx.

    Block 1 goes first; then block 0 adds it too, as the next step will want.
    """
    code = []
    for g in range(4):
        for q in range(4):
            for i in range(4):
                l, p = 4 * q + i, ("%r10", "%r11")[i % 2]
                code.append(f"mov {2048 + ROW + 8 * l}(%rdx),{p}")
                code.append(gather(16 + i, q,
                                   f"{128 * l + 64 * block + 16 * g}({p})"))
        c, result = transpose4((16, 17, 18, 19), 20)
        code += c
        spare = 18  # the one that transpose4 leaves free
        for i in range(4):
            r, at = z(result[i]), 64 * (4 * g + i)
            if block == 1:
                code.append(f"vpxord {1024 + at}(%rdx),{r},{r}")
            else:
                code += [f"vmovdqa32 {at}(%rdx),{z(spare)}",
                         f"vpternlogd $0x96,{1024 + at}(%rdx),{z(spare)},{r}"]
            code.append(f"vmovdqa32 {r},{1024 * block + at}(%rdx)")
    return code


def find_rows(lanes):
    """Rows the set at rsi reads next; r8 its V, r9d N - 1."""
    block = 64 * lanes
    code = [f"mov {2 * block + V}(%rsi),%r8",
            f"mov {2 * block + MASK}(%rsi),%r9d"]
    for l in range(lanes):
        code += [f"mov {block + 4 * l}(%rsi),%eax", "and %r9d,%eax",
                 f"shl ${(128 * lanes).bit_length() - 1},%rax", "add %r8,%rax",
                 f"mov %rax,{2 * block + ROW + 8 * l}(%rsi)",
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
    moves = weave(take_in(1) + take_in(0), find_rows(16), FIND_UNTIL)
    function("hfi_label_avx512_mix", masks() + weave(step(added=True), moves))


class Sixteen:
    """Part of a block of AVX2: fifteen words in registers, one in memory.

    One register is left for rotations, which is enough as the CPU renames it.
    The absent word is one of row c. The quarter round that wants it goes last
    in its round; it is fetched when another c is finished, which then stays
    away until late in the next round, so nobody waits for memory.
    """

    def start(self, absent):
        self.absent = absent
        self.register = {w: w if w < absent else w - 1
                         for w in range(16) if w != absent}

    def y(self, word):
        if word == self.absent:
            return "%ymm15"  # for a moment
        return f"%ymm{self.register[word]}"

    def slot(self, word):
        return f"{512 + 32 * word}(%rdx)"

    def keep(self, word):
        return f"vmovdqa {self.y(word)},{self.slot(word)}"

    def words(self):
        """The absent word last: its stand-in is overwritten soon."""
        return [w for w in Y_ORDER if w != self.absent] + [self.absent]

    def rotate(self, word, left):
        r = self.y(word)
        if left % 8 == 0:
            return [f"vpshufb .Lrol{left}(%rip),{r},{r}"]
        return [f"vpslld ${left},{r},%ymm15", f"vpsrld ${32 - left},{r},{r}",
                f"vpor %ymm15,{r},{r}"]

    def quarters(self, some):
        code = []
        for to, by, turned, left in ((0, 1, 3, 16), (2, 3, 1, 12),
                                     (0, 1, 3, 8), (2, 3, 1, 7)):
            code += [f"vpaddd {self.y(q[by])},{self.y(q[to])},{self.y(q[to])}"
                     for q in some]
            code += [f"vpxor {self.y(q[to])},{self.y(q[turned])},"
                     f"{self.y(q[turned])}" for q in some]
            for q in some:
                code += self.rotate(q[turned], left)
        return code

    def round(self, number):
        quarters = DIAGONALS if number % 2 else COLUMNS
        first = [q for q in quarters if q[2] != self.absent]
        last = [q for q in quarters if q[2] == self.absent]
        code = self.quarters(first)
        out, back = first[0][2], self.absent
        code.append(self.keep(out))
        self.register[back] = self.register.pop(out)
        self.absent = out
        code.append(f"vmovdqa {self.slot(back)},{self.y(back)}")
        return code + self.quarters(last)

    def begin(self, block):
        """The input of a block: to the registers and to the feed."""
        self.start(11)
        code = []
        for w in self.words():
            r = self.y(w)
            code += [f"vmovdqa {512 * block + 32 * w}(%rdi),{r}",
                     f"vpxor {512 * (1 - block) + 32 * w}(%rdi),{r},{r}",
                     f"vmovdqa {r},{32 * w}(%rdx)"]
            if w == self.absent:
                code.append(self.keep(w))
        return code

    def end(self, block):
        code = []
        for w in self.words():
            r = self.y(w)
            if w == self.absent:
                code.append(f"vmovdqa {self.slot(w)},{r}")
            code += [f"vpaddd {32 * w}(%rdx),{r},{r}",
                     f"vmovdqa {r},{512 * block + 32 * w}(%rdi)"]
        return code


Y_ORDER = (0, 4, 12, 1, 5, 13, 2, 6, 14, 3, 7, 15, 8, 9, 10, 11)


def y_step(s):
    code = []
    for block in (0, 1):
        code += s.begin(block)
        for number in range(8):
            code += s.round(number)
        code += s.end(block)
    return code


def y_transpose4(m, spare):
    code, result = transpose4(m, spare)
    return [line.replace("%zmm", "%ymm") for line in code], result


def y_stream():
    """The state of the set at rdi to V at rsi, 32 bytes of a label at once."""
    code = []
    for part in range(4):
        halves = []
        for half, m in enumerate(((0, 1, 2, 3), (5, 6, 7, 8))):
            for i in range(4):
                word = 8 * part + 4 * half + i
                code.append(f"vmovdqa {32 * word}(%rdi),%ymm{m[i]}")
            c, result = y_transpose4(m, m[3] + 1 + 5 * half)
            code += c
            halves.append(result)
        for i, (a, b) in enumerate(zip(*halves)):
            at = 128 * i + 32 * part
            code += [f"vinserti128 $1,%xmm{b},%ymm{a},%ymm10",
                     f"vperm2i128 $0x31,%ymm{b},%ymm{a},%ymm11",
                     f"vmovntdq %ymm10,{at}(%rsi)",
                     f"vmovntdq %ymm11,{at + 512}(%rsi)"]
    return code


def y_take_in():
    """Adds its row to the state of each label of the set at rdi."""
    code = []
    for group in range(8):
        base = 5 * (group % 3)
        m = [base + i for i in range(4)]
        for i in range(4):
            for high, p in ((0, "%r10"), (1, "%r11")):
                l = i + 4 * high
                code.append(f"mov {1024 + ROW + 8 * l}(%rdi),{p}")
            at = 16 * group
            code += [f"vmovdqa {128 * i + at}(%r10),%xmm{m[i]}",
                     f"vinserti128 $1,{128 * (i + 4) + at}(%r11),%ymm{m[i]},"
                     f"%ymm{m[i]}"]
        c, result = y_transpose4(m, base + 4)
        code += c
        for i, r in enumerate(result):
            word = f"{32 * (4 * group + i)}(%rdi)"
            code += [f"vpxor {word},%ymm{r},%ymm{r}", f"vmovdqa %ymm{r},{word}"]
    return code


def avx2():
    print("    .section .rodata\n    .p2align 5")
    for left in (16, 8):
        print(f".Lrol{left}:")
        for lane in (0, 4, 8, 12) * 2:
            order = [lane + (byte - left // 8) % 4 for byte in range(4)]
            print(f"    .byte {','.join(map(str, order))}")
    print("    .text\n")
    code = y_step(Sixteen())
    function("hfi_label_avx2_fill", y_stream() + code)
    function("hfi_label_avx2_mix_alone", y_take_in() + code)
    function("hfi_label_avx2_mix",
             y_take_in() + weave(code, find_rows(8)))


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 OR MIT */")
    print("/* Written by tools/gen_label_asm.py; not to be edited. */\n")
    print("    .text\n")
    {"avx2": avx2, "avx512": avx512}[sys.argv[1]]()
    print('    .section .note.GNU-stack,"",@progbits')


if __name__ == "__main__":
    main()
