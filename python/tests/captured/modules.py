"""Modules, methods and inheritance."""

from captured.harness import World, array, program

import halfstep as hs


class Base(hs.nn.Module):
    scale = 2.0

    def __init__(self, width):
        self.layers = [hs.nn.Linear(2, width), hs.nn.Tanh(), hs.nn.Linear(width, 1)]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * self.scale

    @property
    def doubled(self):
        return self.scale * 2

    @staticmethod
    def halved(x):
        return x / 2

    @classmethod
    def named(cls, x):
        return cls.__name__, x


class Derived(Base):
    def __init__(self, width):
        super().__init__(width)
        self.gate = hs.nn.parameter([0.5])

    def forward(self, x):
        name, y = self.named(self.halved(super().forward(x)))
        return y * self.gate * self.doubled, name


DATA = hs.array([[1.0, 2.0], [-0.5, 3.0]])


def world(make, *calls):
    hs.seed(5)
    net = make()
    return World(net, [lambda f, call=call: call(f, net) for call in calls], lambda: net.named_arrays())


@program
def inherited_forward():
    return world(lambda: Derived(3), lambda f, net: f(DATA), lambda f, net: f(DATA * 2))


@program
def weights_are_rebound():
    def rebound(f, net):
        net.layers[0].weight = hs.nn.parameter(net.layers[0].weight * 2)
        return f(DATA)

    def shadowed(f, net):
        net.scale = 3.0
        result = f(DATA)
        del net.scale
        return result

    return world(lambda: Base(3), lambda f, net: f(DATA), rebound, shadowed)


@program
def batch_norm_and_dropout():
    def make():
        return hs.nn.Sequential(hs.nn.Conv2d(1, 4, 3, padding=1), hs.nn.BatchNorm2d(4), hs.nn.ReLU(), hs.nn.MaxPool2d(2), hs.nn.Flatten(), hs.nn.Dropout(0.25), hs.nn.Linear(16, 3))

    def training(f, net):
        with hs.train_mode():
            return f(IMAGES)

    return world(make, lambda f, net: f(IMAGES), training, lambda f, net: f(IMAGES * 2))


IMAGES = hs.array([[[[float(7 * i * j % 5 - n) for i in range(4)] for j in range(4)]] for n in range(3)])


@program
def a_step_of_training():
    hs.seed(1)
    net = Base(4)
    optimizer = hs.optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=0.01)

    def f(x, y):
        optimizer.zero_grad()
        loss = hs.nn.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    def slower(f):
        optimizer.learning_rate = optimizer.learning_rate / 2
        return f(DATA, DATA[:, :1])

    return World(f, [lambda f: f(DATA, DATA[:, :1]), slower], lambda: (net.named_arrays(), optimizer.velocities))


@program
def recurrent_cells():
    class Reader(hs.nn.Module):
        def __init__(self):
            self.table, self.lstm, self.rnn = hs.nn.Embedding(5, 3), hs.nn.LSTMCell(3, 2), hs.nn.RNNCell(2, 2)
            self.norm, self.act = hs.nn.LayerNorm(2), {"gelu": hs.nn.GELU(), "sigmoid": hs.nn.Sigmoid()}

        def forward(self, ids, kind="gelu"):
            h, c, r = hs.zeros((1, 2)), hs.zeros((1, 2)), hs.zeros((1, 2))
            for k in range(ids.shape[0]):
                h, c = self.lstm(self.table(ids[k : k + 1]), (h, c))
                r = self.rnn(h, r)
            return self.act[kind](self.norm(r))

    ids = hs.array([1, 4, 0])
    return world(Reader, lambda f, net: f(ids), lambda f, net: f(ids, kind="sigmoid"), lambda f, net: f(hs.array([2, 2])))


@program
def adam_on_two_paths():
    hs.seed(2)
    net = Derived(2)
    optimizer = hs.optim.Adam(net.parameters(), 0.05, weight_decay=0.1)

    def f(x):
        net.zero_grad()
        loss = net(x)[0].sum()
        if loss > 0:
            loss = loss * loss
        loss.backward()
        optimizer.step()
        return loss

    return World(f, [lambda f: f(DATA), lambda f: f(-DATA)], lambda: (net.named_arrays(), optimizer.moments, optimizer.powers))
