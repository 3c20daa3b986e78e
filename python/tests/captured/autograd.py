"""Gradients inside captured functions, through them, and disabled."""

from captured.harness import World, array, program

import halfstep as hs


def fresh(*arrays):
    for each in arrays:
        each.grad = None


@program
def backward_outside():
    w = array(0.5, -1.0, grad=True)

    def f(x):
        return (x * w).tanh(), w * w

    def call(f, x):
        fresh(w)
        a, b = f(x)
        (a.sum() * b[0] + f(x * 2)[0].sum()).backward()
        return a, b

    return World(f, [lambda f: call(f, array(1.0, 2.0)), lambda f: call(f, array(-1.0, 3.0))], lambda: w)


@program
def gradients_add_up():
    w = array(0.5, -1.0, grad=True)

    def f(x):
        loss = (x * w * w).sum()
        loss.backward()
        return loss, w.grad

    return World(f, [lambda f: f(array(1.0, 2.0)), lambda f: f(array(3.0, 2.0))], lambda: w)


@program
def no_grad_and_detach():
    w = array(0.5, grad=True)

    def f(x):
        with hs.no_grad():
            fixed = x * w
            with hs.enable_grad():
                kept = x + w
        return fixed * w, kept, (x * w).detach(), fixed

    def call(f):
        fresh(w)
        result = f(array(2.0))
        (result[0] + result[1]).sum().backward()
        return result

    def without(f):
        with hs.no_grad():
            return f(array(3.0))

    return World(f, [call, without], lambda: w)


@program
def gradients_of_functions():
    def f(x, y):
        value, slope = hs.value_and_grad(lambda v: (v.exp() * y).sum())(x)
        a = (x * y).detach()
        a.requires_grad = True
        z = a * a
        return value, slope, hs.grad(lambda u, v: (u * v).sum(), argument=1)(x, y), hs.gradients([z, a], [a, y], [x, a])

    return World(f, [lambda f: f(array(1.0, 2.0), array(0.5, 3.0)), lambda f: f(array(0.5, -2.0), array(1.0, 1.0))])


@program
def differentiable_argument():
    def f(x, w):
        y = x * w
        if y.sum() > 0:
            y = y * w
        return y.sum()

    w = array(2.0, 3.0, grad=True)

    def call(f, x, parameter):
        fresh(w)
        loss = f(x, parameter)
        if loss.is_differentiable:
            loss.backward()
        return loss

    x = array(1.0, 0.5)
    return World(f, [lambda f: call(f, x, w), lambda f: call(f, -x, w), lambda f: call(f, x, array(1.0, 1.0)), lambda f: call(f, w, w)], lambda: w)


@program
def gradients_through_regions():
    w = array(1.1, grad=True)

    def f(x):
        y = hs.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * w + x), hs.array(0), x)[1]
        return hs.cond(y.sum() > 2, lambda v: v * w, lambda v: v - w, y).sum()

    def call(f, x):
        fresh(w)
        loss = f(x)
        loss.backward()
        return loss

    return World(f, [lambda f: call(f, array(1.0)), lambda f: call(f, array(0.01))], lambda: w)
