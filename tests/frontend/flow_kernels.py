"""Control flow in every shape, in text that Triton and Tilewright both read.

The text is executed twice, with `jit` and `tl` of either, so both see the same file and lines.
"""

SOURCE = """\
@jit
def pick(x, y, FLAG: tl.constexpr):
    if FLAG:
        return x + y
    else:
        return x - y


@jit
def clamped(x, low, high):
    if x < low:
        return low
    elif x > high:
        return high
    return x


@jit
def stepwise(x):
    if x > 1:
        y = x * 2
        z = x
        if x > 5:
            return y
        y = y + z
    else:
        y = x + 3
    return y


@jit(noinline=True)
def apart(x, y):
    return x * y + 1


@jit
def swapped(pair):
    return pair[1] + 1, pair[0] * 2


@jit
def branches(x_ptr, n, m, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    cnt = n
    if n > m:
        pid = pid + 1
        new = cnt
    elif n == m:
        new = n
    else:
        new = m
        cnt += 1
    if BLOCK > 2:
        new += 1
    tl.store(x_ptr + pid, new + cnt)


@jit
def loops(x_ptr, n, m, BLOCK: tl.constexpr):
    s = 0
    t = 1
    prev = t
    last = n
    for i in range(n):
        for j in range(i, m):
            s += j
            if j > 3:
                t = t * 2
            else:
                s = s - 1
        for j in tl.static_range(3):
            s += clamped(j * n, m, 100)
        prev = t
        last = n
        if BLOCK == 3:
            last = 2
        u = s
        if s > 10:
            u = 3
        s += u
    tl.store(x_ptr, s + t + prev + last)


@jit
def backwards(x_ptr, n, m, BLOCK: tl.constexpr):
    s = 0
    for i in range(n, m, -2):
        s += i
    tl.store(x_ptr, s)


@jit
def whiles(x_ptr, n, m, BLOCK: tl.constexpr):
    k = 10
    s = m
    t = n
    while k > 0 and s < 100:
        k -= 1
        if k == 3:
            s += k
        x = s if k > 2 else t
        s = x
    while not (s == 3 or t < m):
        t += apart(s, t)
    tl.store(x_ptr, s + k + t)


@jit
def early(x_ptr, n, m, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid > n:
        return
    x = n
    if m > 3:
        if n > 2:
            x = m
            tl.store(x_ptr, 1)
            return
        x = x + 1
        y = 3
    else:
        y = x
        x = 5
    if m > 7:
        y = y + 1
    if not (n == 3 or m < 2):
        return
    elif BLOCK:
        x += 1
    tl.store(x_ptr + 1, x + y)


@jit
def calls(x_ptr, n, m, BLOCK: tl.constexpr):
    a = pick(n, m, True)
    b = pick(a, m, False) + apart(a, n)
    c = stepwise(b)
    for i in range(0, c, 2):
        c += clamped(i, a, b) + apart(i, c)
    tl.store(x_ptr, a + b + c)


@jit
def tuples(x_ptr, n, m, BLOCK: tl.constexpr):
    a, b = swapped((n, m))
    c = (a, b)
    for i in range(n):
        c = swapped(c)
        d, (e, f) = i, c
        b += d + e + f
    if n > 4:
        c = (c[1], c[0])
    (g, h) = c
    r = 0 < n < 9
    k = g if r else h
    tl.store(x_ptr, g + h + b + k)


@jit
def memory(x_ptr, n, m, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    v = tl.load(
        x_ptr + offsets * n,
        mask=offsets + m < n,
        other=0,
    )
    w = (v
         .to(tl.float32)
         * 2)
    tl.store(x_ptr + offsets, w.to(tl.int32), mask=(offsets < n) & (offsets > m))


@jit
def early_and_late(x_ptr, n, m, BLOCK: tl.constexpr):
    a = tl.program_id(0)
    if a < n:
        b = tl.load(x_ptr + a)
        if b < m:
            return
        if b > n:
            tl.store(x_ptr + b, a)
            return
        tl.store(x_ptr, b)
        return
    c = tl.load(x_ptr + n)
    if c > m:
        c += a
        if c == 7:
            return
    else:
        tl.store(x_ptr + c, m)
        return
    tl.store(x_ptr + m, c)
"""

KERNELS = (
    "branches",
    "loops",
    "backwards",
    "whiles",
    "early",
    "early_and_late",
    "calls",
    "tuples",
    "memory",
)
