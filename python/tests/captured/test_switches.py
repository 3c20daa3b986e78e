"""Switches are local to a scope, a thread and a coroutine. Captured programs depend on some of them."""

import asyncio
import builtins
import threading

import pytest
from captured.harness import array, seen

import halfstep as hs
from raising import raises


def switches():
    now = hs._core.switches.get(None) or hs._core.Switches()
    return now.captures, now.gradients, now.training, now.place


DEFAULT = (True, True, False, "cpu")


def test_scopes_end_however_they_are_left():
    with pytest.raises(ZeroDivisionError), hs.capture(False), hs.no_grad(), hs.train_mode(), hs.device("sim"):
        assert switches() == (False, False, True, "sim")
        1 / 0  # noqa: B018

    def early():
        with hs.train_mode():
            for _ in range(3):
                with hs.no_grad(), hs.train_mode(False), hs.enable_grad():
                    return switches()

    assert early() == DEFAULT
    assert switches() == DEFAULT


def first_test_that_fails():
    with hs.capture(False), hs.device("sim"), hs.train_mode():
        raise AssertionError("a test that fails in the middle")


def test_what_a_failing_test_switched_is_not_seen_by_the_next():
    function = hs.jit(lambda x: (x * 2, hs.is_training()))
    function(array(1.0))
    with pytest.raises(AssertionError):
        first_test_that_fails()
    result, training = function(array(1.0))
    assert (result.place, training, switches()) == ("cpu", False, DEFAULT)
    assert function.programs[0].calls == 1 and not function.why_recaptured


def test_an_error_within_a_captured_function_leaves_nothing():
    def f(x):
        print("seen")
        with hs.device("sim"), hs.no_grad():
            raise KeyError("k")

    function = hs.jit(f)
    for _ in range(2):
        with pytest.raises(KeyError):
            function(array(1.0))
        assert switches() == DEFAULT and not hs._core.is_tracing() and builtins.print.__name__ == "print"


def test_print_of_the_user_is_restored(monkeypatch):
    lines = []
    monkeypatch.setattr(builtins, "print", lambda *values: lines.append(values[0]))
    mine = builtins.print
    function = hs.jit(lambda x: (print("from within"), x)[1])
    function(array(1.0)), function(array(2.0))
    assert lines == ["from within"] * 2 and builtins.print is mine


def test_programs_of_each_setting():
    w = array(2.0, grad=True)
    function = hs.jit(lambda x: (x * w, hs.zeros((1,)), hs.is_training()))
    x = array(3.0)
    for _ in range(2):
        for setting in (hs.train_mode(), hs.no_grad(), hs.device("sim"), hs.train_mode(False)):
            with setting:
                found = function(x)
                with hs.capture(False):
                    assert seen(found) == seen(function(x))
    assert [each.calls for each in function.programs] == [1, 1, 1, 1]
    assert [reason.split(":")[0] for reason in function.why_recaptured] == ["training mode", "gradients", "device"]


def test_chains_of_transfers_stay_as_written():
    function = hs.jit(lambda x: x.cpu().sim().sim().cpu().cpu().sim())
    function(array(1.0))
    result = function(array(2.0))
    text = function.programs[0].text
    assert [line.split('"')[1] for line in text.splitlines() if "transfer(" in line] == ["cpu", "sim", "sim", "cpu", "cpu", "sim"]
    assert result.place == "sim" and result.cpu().tolist() == [2.0]


@pytest.mark.parametrize("captured", [False, True])
def test_parameters_at_another_place_than_the_input(captured):
    with hs.device("sim"):
        layer = hs.nn.Linear(2, 2)
    function = hs.jit(layer) if captured else layer
    with raises("arrays_on_different_devices", match=r"linear.*cpu and sim"):
        function(array(1.0, 2.0).reshape(1, 2))
    assert function(array(1.0, 2.0).reshape(1, 2).sim()).place == "sim"


def work(function, number, problems):
    """Make many calls with switches of their own."""
    training, gradients, place = number % 2 == 0, number % 3 == 0, "sim" if number % 5 == 0 else "cpu"
    with hs.train_mode(training), hs.device(place), hs.enable_grad() if gradients else hs.no_grad():
        yield
        for _ in range(20):
            x, training_seen, made = function(float(number))
            expected = (training, place, gradients, number * 2.0)
            found = (training_seen, made.place, switches()[1], x.tolist()[0])
            if found != expected:
                problems.append((found, expected))
            yield
    if switches() != DEFAULT:
        problems.append(switches())


def make():
    w = hs.ones((1,))
    w.requires_grad = True

    @hs.jit(cache=64)
    def product(x):
        return x * 2, hs.is_training(), hs.zeros((1,))

    return lambda value: product(hs.array([value]))


def test_eight_threads():
    shared, problems = make(), []

    def run(number):
        for _ in work(shared if number % 2 else make(), number, problems):
            pass

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and switches() == DEFAULT


def test_a_hundred_coroutines():
    shared, problems = make(), []

    async def run(number):
        for _ in work(shared, number, problems):
            await asyncio.sleep(0)

    async def all_of_them():
        await asyncio.gather(*(run(number) for number in range(100)))

    asyncio.run(all_of_them())
    assert not problems and switches() == DEFAULT


@pytest.mark.parametrize("cache", [1, 8])
def test_capture_in_several_threads_at_once(cache):
    """Threads capture new kinds of calls and outcomes of one function while others run it and print."""
    barrier, problems, printed = threading.Barrier(8), [], []

    class Stream:
        def write(self, text):
            printed.append(text)

        def flush(self):
            pass

    stream = Stream()

    @hs.jit(cache=cache)
    def f(x, k):
        print("k", k, file=stream)
        total = x.sum()
        if total > 10:
            return x * k
        if total > 5:
            print("middle", file=stream)
            return x + k
        return x - k

    def run(number):
        barrier.wait()
        for turn in range(40):
            k, value = (number + turn) % 3, float((number * 7 + turn) % 15)
            found = f(hs.array([value]), k).tolist()[0]
            expected = value * k if value > 10 else value + k if value > 5 else value - k
            if found != expected:
                problems.append((number, turn, found, expected))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    middles = sum((number * 7 + turn) % 15 in range(6, 11) for number in range(8) for turn in range(40))
    assert printed.count("middle") == middles and printed.count("k") == 320  # threads may write inside lines
