"""Closures, defaults and globals."""

from captured.harness import World, array, program

import halfstep as hs

SCALE = 2.0
WEIGHTS = {}


@program
def closure_is_rebound():
    scale, shift = 2.0, array(1.0)

    def f(x):
        return x * scale + shift

    def call(f, new_scale, new_shift):
        nonlocal scale, shift
        scale, shift = new_scale, array(new_shift)
        return f(array(3.0))

    return World(f, [lambda f: call(f, 2.0, 1.0), lambda f: call(f, 3.0, 1.0), lambda f: call(f, 2.0, 4.0)])


@program
def nonlocal_array_and_flag():
    last, started = array(0.0), False

    def f(x):
        nonlocal last, started
        last = last * 0.5 + x
        started = True
        return last

    return World(f, [lambda f: f(array(1.0)), lambda f: f(array(2.0))], lambda: (last, started))


@program
def global_is_rebound():
    global SCALE, WEIGHTS
    SCALE, WEIGHTS = 2.0, {"w": array(1.0)}

    def f(x):
        global SEEN
        SEEN = x * SCALE
        return SEEN + WEIGHTS["w"]

    def call(f, scale, weight):
        global SCALE
        SCALE, WEIGHTS["w"] = scale, array(weight)
        globals().pop("SEEN", None)
        return f(array(2.0)), SEEN

    return World(f, [lambda f: call(f, 2.0, 1.0), lambda f: call(f, 5.0, 1.0), lambda f: call(f, 2.0, -1.0)])


@program
def defaults_and_keywords():
    def f(x, *rest, scale=2, bias=None, **more):
        for each in rest:
            x = x + each
        return (x * scale if bias is None else x * scale + bias), sorted(more), [more[name] * 2 for name in more]

    a = array(1.0)
    return World(
        f,
        [lambda f: f(a), lambda f: f(a, a), lambda f: f(a, scale=3), lambda f: f(a, bias=a), lambda f: f(a, a, a, z=a, y=a * 5), lambda f: f(x=a, y=a)],
    )


@program
def mutable_default():
    def f(x, seen=[hs.zeros((1,))]):  # noqa: B006
        seen[0] = seen[0] + x
        return seen[0]

    return World(f, [lambda f: f(array(1.0)), lambda f: f(array(2.0)), lambda f: f(array(2.0), [array(9.0)])], lambda: f.__defaults__)


@program
def functions_in_functions():
    offset = array(0.5)

    def twice(g):
        return lambda v: g(g(v))

    def f(x, name):
        def square(v):
            return v * v + offset

        table = {"square": square, "twice": twice(square), "lambda": lambda v, k=3: v * k}
        return table[name](x)

    return World(f, [lambda f, n=n: f(array(1.5), n) for n in ("square", "twice", "lambda")])
