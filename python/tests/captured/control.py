"""Generators, recursion, exceptions and printing."""

from captured.harness import World, array, program


@program
def generator_is_read_up():
    def parts(x, count):
        for k in range(count):
            yield x[k] * k
        return None

    def f(x):
        first, *rest = parts(x, x.shape[0])
        return first + sum(rest), [each for pair in zip(parts(x, 2), parts(-x, 2)) for each in pair]

    return World(f, [lambda f: f(array(1.0, 2.0, 3.0)), lambda f: f(array(4.0, 2.0)), lambda f: f(array(0.0, 1.0, 5.0))])


@program
def recursion():
    def power(x, n):
        if n == 0:
            return x * 0 + 1
        half = power(x, n // 2)
        return half * half if n % 2 == 0 else half * half * x

    return World(power, [lambda f: f(array(1.5), 5), lambda f: f(array(-2.0), 5), lambda f: f(array(2.0), 2)])


@program
def try_except_finally():
    log = {"finally": None}

    def f(x, key):
        try:
            assert x.sum() > 0, "not positive"
            y = {"a": x}[key]
        except KeyError as error:
            return x * 3, str(error)
        except AssertionError as error:
            y = -x
            return y, error.args[0]
        finally:
            log["finally"] = x + 1
        return y, None

    return World(f, [lambda f: f(array(1.0), "a"), lambda f: f(array(1.0), "b"), lambda f: f(array(-1.0), "a")], lambda: log)


@program
def printing():
    def f(x, name):
        print("begin", name, end=": ")
        y = x * 2
        print(x, [y], {"y": y}, sep=", ")
        if y.sum() > 4:
            print(f"{name!r} is large")
            return y
        print("done", y.shape)
        return x

    return World(f, [lambda f: f(array(1.0), "a"), lambda f: f(array(3.0), "a"), lambda f: f(array(1.5), "b")])
