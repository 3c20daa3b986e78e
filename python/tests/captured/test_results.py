"""Results of captured functions keep their values while someone holds them and the functions are called again."""

import threading

import numpy as np

import halfstep as hs

LENGTHS = (3, 300, 70_000, 300_000)  # numbers of elements: one for each kind of memory


def test_elements_of_results():
    @hs.jit
    def f(x):
        return x.tanh() + 1, -x

    for length in LENGTHS:
        held = []
        for call in range(6):
            x = np.full(length, call / 8, np.float32)
            first, second = f(hs.array(x))
            held.append((first.numpy(), np.from_dlpack(second), x))
            del first, second
        for first, second, x in held:
            np.testing.assert_array_equal(first, np.tanh(x[0]) * np.ones_like(x) + 1, strict=False, err_msg=str(length))
            np.testing.assert_array_equal(second, -x)


def test_elements_of_what_is_written_over():
    for length in LENGTHS:
        state = hs.zeros((length,))

        @hs.jit
        def count(x):
            state.assign(state + x)
            return state * 2

        held = []
        for _ in range(6):
            before = state.numpy()
            count(hs.ones((length,)))
            held.append(before)
        for call, before in enumerate(held):
            assert (before == call).all()


def test_steps_whose_losses_are_held():
    def train(captures):
        weight = hs.nn.parameter(np.linspace(-1, 1, 300, dtype=np.float32))

        def step(x):
            loss = ((x * weight).tanh() * weight).sum()
            loss.backward()
            with hs.no_grad():
                weight.assign(weight - 0.1 * weight.grad)
            weight.grad = None
            return loss

        run = hs.jit(step) if captures else step
        losses = [run(hs.array(np.full(300, call / 4, np.float32))) for call in range(5)]
        found = []
        for loss in losses:
            weight.grad = None
            loss.backward()
            found.append(weight.grad.numpy().tobytes())
        return found, [loss.numpy().tobytes() for loss in losses], weight.numpy().tobytes()

    assert train(True) == train(False)


def test_results_of_several_threads():
    @hs.jit
    def f(x):
        return x * 2, x + 1

    problems = []

    def run(number):
        held = []
        for call in range(100):
            value = number * 1000.0 + call
            held.append((value, *f(hs.array(np.full(300, value, np.float32)))))
            del held[:-5]
            for expected, double, more in held:
                if double.tolist() != [expected * 2] * 300 or more.tolist() != [expected + 1] * 300:
                    problems.append((number, call))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
