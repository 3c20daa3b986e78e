"""Loops over Python numbers, over arrays, and over their elements."""

from captured.harness import World, array, program

import halfstep as hs


@program
def for_over_an_extent():
    def f(x):
        total = hs.zeros(x.shape[1:])
        for i in range(x.shape[0]):
            total = total * 0.5 + x[i]
        return total

    return World(f, [lambda f: f(hs.array([[1.0, 2.0], [3.0, 4.0]])), lambda f: f(hs.ones((3, 2))), lambda f: f(hs.array([[5.0, 2.0], [3.0, 4.0]]))])


@program
def for_over_an_array():
    def f(x):
        return [row.sum() for row in x]

    return World(f, [lambda f: f(hs.array([[1.0, 2.0], [3.0, 4.0]])), lambda f: f(hs.ones((2, 2)))])


@program
def while_on_a_value():
    def f(x):
        steps = 0
        while x.sum() > 1:
            x = x / 2
            steps += 1
        return x, steps

    return World(f, [lambda f: f(array(3.0, 1.0)), lambda f: f(array(0.5)), lambda f: f(array(9.0, 1.0)), lambda f: f(array(4.0, 0.5))])


@program
def break_and_else():
    def f(xs, limit):
        for place, x in enumerate(xs):
            if x > limit:
                break
        else:
            return "none", limit
        return place, x * limit

    a = array(1.0, 5.0, 3.0)
    return World(f, [lambda f: f(a, array(2.0)[0]), lambda f: f(a, array(7.0)[0]), lambda f: f(a, array(0.0)[0])])


@program
def continue_and_nested():
    def f(x, rows, columns):
        total = x * 0
        for i in range(rows):
            if i == 1:
                continue
            for j in range(columns):
                if j > i:
                    break
                total += x * (i + 1) - j
        return total

    a = array(1.0, 2.0)
    return World(f, [lambda f: f(a, 3, 4), lambda f: f(a, 2, 1), lambda f: f(a * 2, 3, 4)])


@program
def while_loop_region():
    def f(x, n):
        return hs.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * 1.5 - x), hs.array(0), x)[1]

    a = array(1.0, -2.0)
    return World(f, [lambda f: f(a, hs.array(3)), lambda f: f(a, hs.array(0)), lambda f: f(a + 1, hs.array(10))])


@program
def scan_region():
    def f(x, w):
        last, each = hs.scan(lambda state, row: ((state @ w + row).tanh(), state.sum()), hs.zeros((2,)), x)
        return last, each

    w = hs.array([[0.5, -1.0], [0.25, 2.0]])
    return World(f, [lambda f: f(hs.array([[1.0, 2.0], [3.0, 4.0]]), w), lambda f: f(hs.ones((3, 2)), w)])


@program
def zip_reversed_sorted_any():
    def f(xs, scales):
        total = xs[0] * 0
        for x, scale in zip(reversed(xs), sorted(scales, reverse=True)):
            total = total + x * scale
        return total if any(scale > 2 for scale in scales) and all(x.ndim == 1 for x in xs) else -total

    a, b = array(1.0, 2.0), array(3.0, 5.0)
    return World(f, [lambda f: f([a, b], (1, 3)), lambda f: f([b, a], (1, 3)), lambda f: f([a, b], (1, 2)), lambda f: f([a], (2, 1))])
