"""Arrays on several devices, and chains of transfers."""

from captured.harness import World, array, program

import halfstep as hs


@program
def there_and_back():
    def f(x):
        return (x.sim() * 2).cpu() + 1

    return World(f, [lambda f: f(array(1.0)), lambda f: f(array(2.0))])


@program
def chain_of_transfers():
    def f(x):
        return x.cpu().sim().sim().cpu().sim()

    return World(f, [lambda f: f(array(1.0)), lambda f: f(array(2.0).sim())])


@program
def made_by_device():
    def f(x):
        with hs.device("sim"):
            y = hs.ones((2,)) * 3
        return y, x.sim() + y, hs.zeros((1,))

    return World(f, [lambda f: f(array(1.0, 2.0)), lambda f: f(array(3.0, 2.0))])


@program
def input_decides_the_place():
    def f(x):
        return x.to("cpu") * 2 if x.place == "sim" else (x * 2).to("sim")

    return World(f, [lambda f: f(array(1.0)), lambda f: f(array(1.0).sim())])


@program
def gradients_at_the_other_place():
    with hs.device("sim"):
        w = array(0.5, -1.0, grad=True)

    def f(x):
        loss = (x.sim() * w).tanh().sum()
        loss.backward()
        return loss.cpu()

    def call(f, x):
        w.grad = None
        return f(x)

    return World(f, [lambda f: call(f, array(1.0, 0.5)), lambda f: call(f, array(-1.0, 0.25))], lambda: w)


@program
def decision_on_the_other_place():
    def f(x):
        s = x.sim()
        if s.sum() > 0:
            s = s * 2
        return s

    return World(f, [lambda f: f(array(1.0)), lambda f: f(array(-1.0))])
