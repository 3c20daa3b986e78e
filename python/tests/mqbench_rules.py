"""Positions of MQBench's activation quantizers, computed from its rules over a torch.fx graph. This is an independent
reference: it shares no code with Halfstep. The rules are those of MQBench's branch main for torch 2.5.
test_mqbench_networks.py compares them with records of the real MQBench. Tests that import this are skipped without
torch.
"""

import operator

import pytest

torch = pytest.importorskip("torch")
fx = pytest.importorskip("torch.fx")
nn, F = torch.nn, torch.nn.functional

CONVS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
POOLS = (nn.AvgPool2d, nn.AdaptiveAvgPool2d)
LAYERS = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)
BASE = ((*LAYERS, nn.MaxPool2d, *POOLS, nn.BatchNorm2d, nn.PReLU, nn.Upsample), (operator.add, operator.mul, F.adaptive_avg_pool2d, F.interpolate))
QNN = ((nn.Conv2d, *POOLS), (operator.add, F.adaptive_avg_pool2d))
TENGINE = ((*BASE[0], nn.Hardswish, nn.Sigmoid), (*BASE[1], torch.cat, F.hardswish, F.sigmoid))
OPENVINO = (
    (nn.Conv2d, nn.Conv1d, nn.Linear, nn.MaxPool2d, *POOLS, nn.Upsample),
    (operator.add, F.adaptive_avg_pool2d, F.max_pool2d, F.avg_pool2d, torch.flatten, "mean", "sum", F.interpolate),
)
VITIS = (
    (*LAYERS, *POOLS, nn.BatchNorm2d, nn.ReLU, nn.PReLU, nn.Upsample),
    (operator.add, operator.mul, torch.cat, F.adaptive_avg_pool2d, F.avg_pool2d, F.relu, F.conv2d, F.linear, F.interpolate),
)
RELUS = ((nn.ReLU, nn.ReLU6), (F.relu, F.relu6))
TOTAL_INT = {"asks": BASE, "gives": BASE, "passes": ((*RELUS[0], nn.Dropout2d), (*RELUS[1], torch.flatten)), "merges": {(operator.mul, operator.add)}}
TENSORRT = {"asks": BASE, "merges": {(operator.mul, operator.add)}}
BACKENDS = {
    "Academic": {"asks": ((nn.Conv2d, nn.Linear), ()), "fuses": False},
    "Tensorrt": TENSORRT,
    "NNIE": TENSORRT,
    "QDQ": TENSORRT,
    "SNPE": TOTAL_INT,
    "PPLW8A16": TOTAL_INT,
    "PPLCUDA": TOTAL_INT,
    "STPU": TOTAL_INT,
    "Vitis": {"results": VITIS},
    "ONNX_QNN": {"asks": QNN, "gives": QNN, "passes": RELUS},
    "OPENVINO": {"producers": OPENVINO},
    "Tengine_u8": {"asks": TENGINE, "gives": TENGINE, "passes": ((), (torch.flatten,)), "output": True},
    "Tensorrt_NLP": {"asks": ((nn.Linear,), (operator.add, torch.matmul)), "merges": {(operator.mul, operator.add), (operator.truediv, operator.add)}, "tensors_alone": True},
    "Academic_NLP": {"asks": ((nn.Linear,), (torch.matmul,))},
}


class Tracer(fx.Tracer):
    def is_leaf_module(self, module, name):
        return module.__module__.startswith("torch.nn") and not isinstance(module, nn.Sequential)


def trace(module):
    """Return the graph of a module, with the modules that it calls."""
    graph = Tracer().trace(module)
    return fx.GraphModule(module, graph)


class Unit:
    """Nodes that form one layer. It has the name of the first."""

    def __init__(self, nodes, modules):
        self.nodes, self.first, self.last, self.name, self.module = nodes, nodes[0], nodes[-1], nodes[0].name, modules[0]
        self.modules = modules

    def is_in(self, kinds):
        modules, functions = kinds
        if self.module is not None:
            return isinstance(self.module, modules) and not (self.is_fused and isinstance(self.module, NORMS))
        return self.first.op in ("call_function", "call_method") and self.first.target in functions

    @property
    def is_fused(self):
        return len(self.nodes) > 1


class Units:
    """The units of a graph. With `fuses`, conv-bn-relu and similar chains are one unit."""

    def __init__(self, traced, fuses=True):
        self.modules, self.traced = dict(traced.named_modules()), traced
        self.of = {}
        for node in reversed(traced.graph.nodes):
            if node in self.of:
                continue
            nodes = next((chain for chain in self.chains(node) if self.fuse(chain)), [node]) if fuses else [node]
            self.of.update(dict.fromkeys(nodes, Unit(nodes, [self.module(node) for node in nodes])))
        self.all = list(dict.fromkeys(self.of[node] for node in traced.graph.nodes))
        self.getitems = self.known_getitems()

    def module(self, node):
        return self.modules[node.target] if node.op == "call_module" else None

    def chains(self, node):
        """Return the chains of two or three nodes that end at this node, the longest first. Each node is read only by
        the next.
        """
        chain = [node]
        while len(chain) < 3 and chain[0].args and isinstance(chain[0].args[0], fx.Node) and len(chain[0].args[0].users) == 1:
            chain.insert(0, chain[0].args[0])
        return [chain[start:] for start in range(len(chain) - 1)]

    def fuse(self, chain):
        modules = [self.module(node) for node in chain]
        kind = lambda *kinds: lambda module, node: type(module) in kinds  # noqa: E731
        relu = lambda module, node: type(module) is nn.ReLU or node.target is F.relu  # noqa: E731
        up, norm = kind(nn.ConvTranspose2d), kind(nn.BatchNorm2d, nn.BatchNorm3d)
        layer, any_norm = kind(*CONVS), kind(*NORMS)
        patterns = [(layer, any_norm, relu), (layer, any_norm), (layer, relu), (kind(nn.Linear), relu), (norm, relu), (up, norm, relu), (up, norm)]
        return any(len(chain) == len(pattern) and all(fits(m, n) for fits, m, n in zip(pattern, modules, chain)) for pattern in patterns)

    def inputs(self, unit):
        """Return the nodes in positional arguments."""
        found = []

        def collect(value):
            if isinstance(value, fx.Node):
                found.append(value)
            elif isinstance(value, dict):
                collect(list(value.values()))
            elif isinstance(value, (list, tuple)):
                for one in value:
                    collect(one)

        collect(unit.first.args)
        return found

    def readers(self, unit):
        return [self.of[user] for user in unit.last.users]

    def known_getitems(self):
        """Map each node that reads an item of a dict filled by `update` to its value."""
        known, contents = {}, {}
        for node in self.traced.graph.nodes:
            if node.target == "update" and node.op == "call_method":
                added = node.args[1]
                contents.setdefault(node.args[0], {}).update(contents.get(added, {}) if isinstance(added, fx.Node) else added)
            if node.target is operator.getitem:
                holder, key = node.args[0], node.args[1]
                inside = known.get(holder, contents.get(holder)) if isinstance(holder, fx.Node) else None
                if isinstance(inside, dict) and key in inside:
                    known[node] = inside[key]
        return {node: value for node, value in known.items() if isinstance(value, fx.Node)}

    def resolved(self, node):
        return self.of[self.getitems.get(node, node)]


def asked_for(units, rules):
    kinds = rules["asks"]
    for unit in units.all:
        if not unit.is_in(kinds):
            continue
        inputs = units.inputs(unit)
        if rules.get("tensors_alone") and len(inputs) < len(unit.first.args):
            continue
        for node in inputs:
            if not is_merged(units.of[node], unit, rules):
                yield units.resolved(node)


def is_merged(unit, reader, rules):
    return (unit.first.target, reader.first.target) in rules.get("merges", ())


def given(units, rules):
    for unit in units.all:
        if unit.first.op == "output" and rules.get("output"):
            last = unit.first.args[0]
            if isinstance(last, fx.Node) and last.target is not operator.getitem and last.op != "placeholder":
                yield units.of[last]
        if "gives" not in rules or not unit.is_in(rules["gives"]):
            continue
        for reader in units.readers(unit):
            if reader.is_in(rules["passes"]):
                yield reader
            elif not is_merged(unit, reader, rules):
                yield unit


def producers(units, kinds):
    """Select units by their own operation, not by their readers. OpenVINO does so."""
    pools, layers = ((nn.MaxPool2d, nn.Flatten), (F.max_pool2d, torch.flatten)), ((nn.Conv2d, nn.Conv1d, nn.Linear), (F.conv2d, F.conv1d, F.conv3d, torch.matmul))
    for unit in units.all:
        if unit.first.op == "placeholder":
            yield unit
        readers = units.readers(unit)
        if unit.first.op == "placeholder" or unit.first.target in (operator.getitem, getattr, torch.cat):
            continue
        if any(reader.first.op == "output" for reader in readers):
            continue
        if unit.is_in(pools) and any(reader.is_in(layers) and not is_plain_line(reader) for reader in readers):
            continue
        if any(reader.is_in(kinds) and not is_plain_line(reader) for reader in readers):
            yield unit


def is_plain_line(unit):
    """OPENVINO's lists hold a convolution of one spatial axis only with a normalization."""
    return isinstance(unit.module, nn.Conv1d) and not any(isinstance(part, NORMS) for part in unit.modules)


def inserted(traced, backend):
    """Return the units whose outputs have a quantizer, in MQBench's order, once each."""
    rules = BACKENDS[backend]
    units = Units(traced, rules.get("fuses", True))
    found = []
    if "asks" in rules:
        found += [*asked_for(units, rules), *given(units, rules)]
    if "results" in rules:
        found += [unit for unit in units.all if unit.is_in(rules["results"])]
    if "producers" in rules:
        found += producers(units, rules["producers"])
    return list(dict.fromkeys(found))


def passed(traced, node, module):
    """Replace a node that computes nothing in evaluation mode by its input. Exporters omit it."""
    is_nothing = isinstance(module, (nn.Identity, nn.modules.dropout._DropoutNd))
    if is_nothing or getattr(node.target, "__name__", "") in ("dropout", "stochastic_depth"):
        return node.args[0]
    return None


def as_one(traced, node, module):
    """Use one form for a function, a method and a module that compute the same."""
    if (node.op == "call_method" and node.target == "flatten") or isinstance(module, nn.Flatten):
        return traced.graph.call_function(torch.flatten, (node.args[0], 1))
    if node.target in (F.max_pool2d, F.avg_pool2d):
        kind = nn.MaxPool2d if node.target is F.max_pool2d else nn.AvgPool2d
        traced.add_module(f"{node.name}_pool", kind(*node.args[1:], **node.kwargs))
        return traced.graph.call_module(f"{node.name}_pool", (node.args[0],))
    return None


def joined(traced, node, module):
    """Replace a concat of one value by that value, and a concat of concats by one concat."""
    if node.target is not torch.cat or not isinstance(node.args[0], (list, tuple)):
        return None
    if len(node.args[0]) == 1:
        return node.args[0][0]
    parts = [part.args[0] if part.target is torch.cat and len(part.users) == 1 else [part] for part in node.args[0]]
    return traced.graph.call_function(torch.cat, (sum(map(list, parts), []), *node.args[1:]), node.kwargs)


def folded(traced, node, module):
    """Fold a batch norm into the deconvolution before it, as the exporter of torch.export does."""
    before = node.args[0] if isinstance(module, NORMS) else node
    deconvolution = traced.get_submodule(before.target) if before.op == "call_module" else None
    if before is node or not isinstance(deconvolution, nn.ConvTranspose2d):
        return None
    traced.add_module(f"{node.name}_folded", nn.utils.fuse_conv_bn_eval(deconvolution, module, transpose=True))
    return traced.graph.call_module(f"{node.name}_folded", before.args)


RULES = {"dropout": passed, "method": as_one, "concat": joined, "norm": folded}


def as_files_say(traced, names=tuple(RULES)):
    """Remove the details that no exported file contains, by the names of docs/design/mqbench_sets.md. The meta of a new
    node names the node that it replaces.
    """
    modules, known = dict(traced.named_modules()), list(traced.graph.nodes)
    for node in [node for node in known if node.op.startswith("call")]:
        module = modules[node.target] if node.op == "call_module" else None
        with traced.graph.inserting_before(node):
            made = next((made for name in names if (made := RULES[name](traced, node, module))), None)
        if made:
            inputs = node.all_input_nodes
            if made not in known:
                made.meta["in_place_of"] = node.name
            node.replace_all_uses_with(made)
            traced.graph.erase_node(node)
            for unread in [one for one in inputs if not one.users]:
                traced.graph.erase_node(unread)
    traced.recompile()
    return traced
