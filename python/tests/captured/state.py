"""State that is written, and arrays that are changed in place."""

from captured.harness import World, array, program

import halfstep as hs


class Cell:
    pass


@program
def argument_in_place():
    def f(x):
        x *= 2
        x[0] = 7
        x[1:] += 1
        return x

    a = array(1.0, 2.0, 3.0)
    return World(f, [lambda f: f(a), lambda f: f(array(1.0, 5.0))], lambda: a)


@program
def swap():
    def f(x, y):
        kept = x.detach()
        x.assign(y)
        y.assign(kept)

    a, b = array(1.0), array(2.0)
    return World(f, [lambda f: f(a, b), lambda f: f(b, a)], lambda: (a, b))


@program
def running_mean_in_an_attribute():
    def f(cell, x):
        cell.mean = cell.mean * 0.9 + x * 0.1
        cell.last = cell.mean
        return cell.mean

    cell = Cell()
    cell.mean = array(0.0)
    cell.last = None

    return World(f, [lambda f: f(cell, array(1.0)), lambda f: f(cell, array(3.0))], lambda: (cell.mean, type(cell.last)))


@program
def result_and_state_are_one():
    def f(cell, x):
        cell.h = x + 1
        return cell.h

    cell = Cell()
    cell.h = None

    def call(f):
        cell.h = None
        y = f(cell, array(1.0))
        y += 5
        return y

    return World(f, [call, call], lambda: cell.h)


@program
def new_attribute():
    def f(cell, x):
        cell.made = {"x": x * 2}
        if hasattr(cell, "gone"):
            del cell.gone
        return cell.made["x"]

    cells = []

    def call(f, cell=Cell()):
        vars(cell).clear()
        cell.gone = 1
        cells.append(cell)
        return f(cell, array(3.0))

    return World(f, [call, call], lambda: cells[-1])


@program
def buffer_is_reset():
    count = hs.zeros((1,))

    def f(x):
        count.assign(count + 1)
        if x.sum() < 0:
            count.assign(hs.zeros((1,)))
        return x * count

    return World(f, [lambda f: f(array(1.0)), lambda f: f(array(1.0)), lambda f: f(array(-1.0))], lambda: count)


@program
def random_numbers():
    def f(x, noisy):
        if noisy:
            x = x + hs.normal(x.shape, std=0.1)
        keep = hs.uniform(x.shape) > 0.5
        if keep.astype("f32").sum() > 1:
            return hs.where(keep, x, 0.0)
        return x * hs.uniform((1,))

    return World(f, [lambda f: f(array(1.0, 2.0, 3.0), True), lambda f: f(array(1.0, 2.0, 3.0), False)])


@program
def values_before_and_after():
    def f(x):
        before = x + 0
        kept = x
        x += 1
        print(before, x)
        if x[0] > 3:
            x -= 0.5
            print("less", x)
        return before, kept, x

    a = array(1.0, 2.0)
    return World(f, [lambda f: f(a), lambda f: f(array(9.0, 2.0))], lambda: a)
