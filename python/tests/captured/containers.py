"""Lists, tuples, dicts, sets and objects that hold arrays."""

from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field

from captured.harness import World, array, program

import halfstep as hs

Pair = namedtuple("Pair", "left right")


@dataclass
class Batch:
    x: hs.array
    weights: list = field(default_factory=list)
    name: str = "batch"


@program
def dict_of_arrays_in_and_out():
    def f(features):
        return {name: x * 2 for name, x in features.items()} | {"sum": features["a"] + features["b"]}

    return World(f, [lambda f: f({"a": array(1.0), "b": array(2.0)}), lambda f: f({"b": array(4.0), "a": array(2.0)}), lambda f: f({"a": array(7.0), "b": array(5.0)})])


@program
def argument_list_is_changed():
    def f(items, x):
        items[0] = x * 2
        items.append(x + 1)
        del items[1]
        return items

    lists = []

    def call(f):
        lists.append([array(1.0), array(2.0), "kept"])
        return f(lists[-1], array(3.0))

    return World(f, [call, call], lambda: lists)


@program
def argument_dict_is_changed():
    def f(cache, x):
        cache["last"] = x
        cache.setdefault("first", x * 0)
        cache.pop("old", None)
        return cache["first"] + x

    dicts = []

    def call(f):
        dicts.append({"old": 1, "kept": array(5.0)})
        return f(dicts[-1], array(float(len(dicts))))

    return World(f, [call, call], lambda: dicts)


@program
def namedtuple_and_dataclass():
    def f(pair):
        made = Batch(pair.left + pair.right, [pair.left], name="sum")
        made.weights.append(made.x)
        return pair._replace(left=made.x), made

    return World(f, [lambda f: f(Pair(array(1.0), array(2.0))), lambda f: f(Pair(array(3.0), array(-2.0)))])


@program
def one_object_at_several_places():
    def f(x):
        y = x + 1
        held = [y]
        return {"y": y, "held": held, "again": held, "x": x, "all": (held, y)}

    return World(f, [lambda f: f(array(1.0)), lambda f: f(array(2.0))])


@program
def one_array_given_twice():
    def f(x, y):
        x += 1
        return x * y

    a, b = array(1.0, 2.0), array(5.0, 2.0)
    return World(f, [lambda f: f(a, b), lambda f: f(a, a), lambda f: f(b, a), lambda f: f(b, b)], lambda: (a, b))


@program
def stacks_queues_and_defaults():
    def f(xs, groups):
        found = defaultdict(list)
        for x, group in zip(xs, groups):
            found[group].append(x)
        order = OrderedDict((name, hs.stack(each).sum(axis=0)) for name, each in sorted(found.items()))
        return found, order, order.popitem(last=False)

    return World(f, [lambda f: f([array(1.0), array(2.0), array(3.0)], "aba"), lambda f: f([array(1.0), array(4.0), array(3.0)], "aba"), lambda f: f([array(1.0)], "b")])


@program
def one_list_given_twice():
    def f(first, second, x):
        first.append(x)
        return len(second), second[-1] * 2

    def same(f):
        held = [array(1.0)]
        return f(held, held, array(5.0)), held

    return World(f, [lambda f: f([array(1.0)], [array(2.0)], array(5.0)), same])
