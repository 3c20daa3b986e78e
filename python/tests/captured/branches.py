"""Branches on values of arrays and of Python."""

from captured.harness import World, array, program

import halfstep as hs

X, Y = (1.0, 2.0, -0.5), (-3.0, 0.25, 1.0)


@program
def if_on_a_sum():
    def f(x):
        if x.sum() > 0:
            return x * 2
        return -x

    return World(f, [lambda f: f(array(*X)), lambda f: f(array(*Y))])


@program
def elif_chain_with_early_returns():
    def f(x):
        total = x.sum()
        if total > 10:
            return "large", x
        elif total > 0:
            return "small", x + 1
        elif total == 0:
            return "none", None
        return "negative", -x

    values = [(20.0,), (0.5,), (0.0,), (-1.0,)]
    return World(f, [lambda f, v=v: f(array(*v)) for v in values])


@program
def nested_branches():
    def f(x, y):
        if x.max() > 1:
            if y.min() < 0:
                z = x + y
            else:
                z = x - y
        else:
            z = x * y if y.sum() > 0 else x / 2
        return z.tanh()

    a, b = array(*X), array(*Y)
    return World(f, [lambda f: f(a, b), lambda f: f(b, a), lambda f: f(b, b), lambda f: f(b, -a), lambda f: f(a, b * b)])


@program
def and_or_not():
    def f(x, y):
        if x.sum() > 0 and not y.sum() > 0 or x.max() > 100:
            return x
        return y

    a, b = array(*X), array(*Y)
    return World(f, [lambda f: f(a, b), lambda f: f(b, a), lambda f: f(a, a), lambda f: f(b * 1000, b)])


@program
def flag_and_none():
    def f(x, y=None, negate=False):
        if y is not None:
            x = x + y
        return -x if negate else x

    a = array(*X)
    return World(f, [lambda f: f(a), lambda f: f(a, a), lambda f: f(a, negate=True), lambda f: f(a, y=a, negate=True), lambda f: f(a, None, False)])


@program
def branch_by_type_and_extents():
    def f(x):
        if x.dtype == "i64":
            x = x.astype("f32")
        if x.ndim == 2:
            return x.sum(axis=0) / x.shape[0]
        return x.reshape(-1)[0] * len(x)

    return World(f, [lambda f: f(array(*X)), lambda f: f(hs.array([[1, 2], [3, 4]])), lambda f: f(hs.array([1, 2])), lambda f: f(hs.ones((3, 2)))])


@program
def where_and_cond():
    def f(x):
        y = hs.where(x > 0, x, -x)
        return hs.cond(y.sum() > 4, lambda v: v * 2, lambda v: v + 1, y)

    return World(f, [lambda f: f(array(*X)), lambda f: f(array(*Y)), lambda f: f(array(0.0, 9.0, 1.0))])


@program
def match_on_an_item():
    def f(x, k):
        match int(k):
            case 0:
                return x
            case 1:
                return x * x
            case _:
                return x - 1

    a = array(*X)
    return World(f, [lambda f, k=k: f(a, hs.array(k)) for k in (0, 1, 2)])
