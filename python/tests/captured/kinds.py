"""State that Python lets one read and change: how it is made, the number that is read of it, and what may happen to it
between calls. `_` at the end of a name stands for the number of the state, V for a number."""

from typing import NamedTuple


class Kind(NamedTuple):
    name: str
    make: str
    read: str
    changes: list[str]


def _kinds(text):
    for block in text.strip().split("\n\n"):
        name, *lines = block.split("\n")
        at = next(place for place, line in enumerate(lines) if line.startswith("> "))
        yield Kind(name, "\n".join(lines[:at]), lines[at][2:], [line[2:].replace("; ", "\n") if not line.startswith("! def") else line[2:] for line in lines[at + 1 :]])


GUARDED = list(
    _kinds('''
global
k_ = 1.0
> k_
! globals()["k_"] = V

closure
def make_():
    k = 1.0
    def get():
        return k
    def put(v):
        nonlocal k
        k = v
    return get, put
get_, put_ = make_()
> get_()
! put_(V)
! get_.__closure__[0].cell_contents = V

default
def f_(k=1.0):
    return k
> f_()
! f_.__defaults__ = (V,)

keyword default
def f_(*, k=1.0):
    return k
> f_()
! f_.__kwdefaults__ = {"k": V}
! f_.__kwdefaults__["k"] = V

code
def f_():
    return 1.0
def one_():
    return 2.0
def two_():
    return 3.0
> f_()
! f_.__code__ = (one_ if V > 1.5 else two_).__code__

function attribute
def f_():
    return f_.k
f_.k = 1.0
> f_()
! f_.k = V
! f_.__dict__ = {"k": V}

attribute
class O_:
    pass
o_ = O_()
o_.k = 1.0
> o_.k
! o_.k = V
! o_.__dict__ = {"k": V}
! vars(o_)["k"] = V

slot
class O_:
    __slots__ = ("k", "__p")
    def put(self, v):
        self.__p = v
    def get(self):
        return self.__p
o_ = O_()
o_.k = 1.0
o_.put(1.0)
> o_.k + o_.get()
! o_.k = V
! o_.put(V)

class attribute
class P_:
    k = 1.0
class O_(P_):
    pass
o_ = O_()
> o_.k
! P_.k = V
! O_.k = V
! o_.k = V
! [delattr(each, "k") for each in (O_,) if "k" in vars(each)]

class in the middle
class P_:
    k = 1.0
class M_(P_):
    pass
class O_(M_):
    def get(self):
        return super().k
o_ = O_()
> o_.get()
! M_.k = V
! P_.k = V

bases
class P_:
    k = 1.0
class Q_:
    k = 2.0
class B_(P_):
    pass
class O_(B_):
    pass
o_ = O_()
> o_.k
! B_.__bases__ = (P_,) if V > 1.5 else (Q_,)

class replaced
class P_:
    k = 1.0
class Q_:
    k = 2.0
o_ = P_()
> o_.k
! o_.__class__ = P_ if V > 1.5 else Q_

metaclass
class M_(type):
    k = 1.0
class O_(metaclass=M_):
    pass
> O_.k
! M_.k = V
! O_.k = V

metaclass lookup
state_ = [1.0]
class M_(type):
    def __getattr__(cls, name):
        return state_[0]
class O_(metaclass=M_):
    pass
> O_.anything
! state_[0] = V

metaclass replaced
class M_(type):
    k = 1.0
class N_(type):
    k = 2.0
class O_(metaclass=M_):
    pass
> O_.k
! O_.__class__ = M_ if V > 1.5 else N_

property
class O_:
    _k = 1.0
    @property
    def k(self):
        return self._k
o_ = O_()
> o_.k
! o_._k = V
! O_.k = property(lambda self: V)

descriptor
class D_:
    v = 1.0
    def __get__(self, o, cls=None):
        return self.v
class O_:
    k = D_()
o_ = O_()
> o_.k
! vars(O_)["k"].v = V
! D_.v = V

getattr
class O_:
    def __init__(self):
        self.d = {"k": 1.0}
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__["d"].get(name, 0.0)
o_ = O_()
> o_.k
! o_.d["k"] = V
! o_.k = V

getattribute
state_ = [1.0]
class O_:
    def __getattribute__(self, name):
        return state_[0]
o_ = O_()
> o_.k
! state_[0] = V

added lookup
class O_:
    k = 1.0
o_ = O_()
> o_.k
! def get(self, name): return V; O_.__getattribute__ = get

operators
state_ = [1.0]
class O_:
    def __add__(self, other):
        return other + state_[0]
    def __len__(self):
        return int(state_[0])
    def __bool__(self):
        return state_[0] > 1.5
    def __contains__(self, k):
        return state_[0] > k
    def __iter__(self):
        return iter([state_[0]] * 2)
    def __getitem__(self, k):
        return state_[0] * k
    def __float__(self):
        return state_[0]
    def __call__(self, k):
        return k - state_[0]
    def __eq__(self, other):
        return state_[0] == other
    __hash__ = None
    def __str__(self):
        return "x" * int(state_[0])
    def __format__(self, spec):
        return "y" * int(state_[0])
o_ = O_()
> (o_ + 1.0) + len(o_) + (2.0 if o_ else 3.0) + (1.5 in o_) + sum(o_) + o_[2] + float(o_) + o_(1.0) + (o_ == 2.0) + len(f"{o_}") + len(str(o_))
! state_[0] = V
! O_.__len__ = lambda self: int(V)
! O_.__call__ = lambda self, k: V

truth
class O_:
    pass
o_ = O_()
> 2.0 if o_ else 3.0
! O_.__bool__ = lambda self: V > 1.5
! O_.__len__ = lambda self: int(V) - 1

method
class O_:
    def get(self):
        return 1.0
o_ = O_()
> o_.get()
! O_.get = lambda self: V
! o_.get = lambda: V

bound method
class O_:
    k = 1.0
    def get(self):
        return self.k
o_ = O_()
get_ = o_.get
> get_()
! o_.k = V
! O_.k = V

class and static method
class O_:
    k = 1.0
    @classmethod
    def get(cls):
        return cls.k
    @staticmethod
    def other():
        return O_.k * 2
> O_.get() + O_.other()
! O_.k = V

list
l_ = [1.0, [2.0]]
> l_[0] + l_[1][0] + len(l_)
! l_[0] = V
! l_[1][0] = V
! l_.append(V)
! l_[1] = [V]

big list
l_ = [1.0] * 3000
> l_[1234]
! l_[1234] = V

dict
d_ = {"k": 1.0}
> d_["k"] + sum(d_.values())
! d_["k"] = V
! d_[V] = V
! d_.pop("k"); d_["k"] = V

set
s_ = {1}
> float(sum(s_)) + len(s_)
! s_.add(int(V))
! s_.discard(int(V))

tuple in a frozenset
t_ = ((1, 2), [1.0])
> t_[1][0]
! t_[1][0] = V

ordered dict
d_ = collections.OrderedDict(a=1.0, b=2.0)
> list(d_.values())[0] * 3 + d_["b"]
! d_.move_to_end("a")
! d_.move_to_end("b")
! d_["b"] = V

default dict
d_ = collections.defaultdict(lambda: 1.0)
> d_.default_factory() + len(d_)
! d_.default_factory = lambda: V
! d_["k"] = V

counter
d_ = collections.Counter()
> float(d_["k"] + sum(d_.values()))
! d_["k"] += int(V)

user dict
d_ = collections.UserDict(k=1.0)
> d_["k"]
! d_["k"] = V
! d_.data = {"k": V}

chain map
a_ = {"k": 1.0}
d_ = collections.ChainMap({}, a_)
> d_["k"]
! a_["k"] = V
! d_.maps[0]["k"] = V

user list
l_ = collections.UserList([1.0])
> l_[0]
! l_[0] = V

missing
class D_(dict):
    other = 1.0
    def __missing__(self, key):
        return self.other
d_ = D_()
> d_["k"]
! d_.other = V
! d_["k"] = V

subclass of list
class L_(list):
    k = 1.0
    def __getitem__(self, at):
        return list.__getitem__(self, at) * self.k
l_ = L_([1.0])
> l_[0]
! l_.k = V
! list.__setitem__(l_, 0, V)

subclass of float
class F_(float):
    pass
n_ = F_(2.0)
n_.k = 1.0
> n_ + n_.k
! n_.k = V

namespace
n_ = types.SimpleNamespace(k=1.0)
> n_.k
! n_.k = V

dataclass
@dataclasses.dataclass
class C_:
    k: float = 1.0
    l: list = dataclasses.field(default_factory=lambda: [1.0])
c_ = C_()
> c_.k + c_.l[0] + dataclasses.replace(c_, k=c_.k * 2).k
! c_.k = V
! c_.l[0] = V

frozen dataclass
@dataclasses.dataclass(frozen=True)
class C_:
    k: float = 1.0
c_ = C_()
> c_.k + C_(3.0).k
! object.__setattr__(c_, "k", V)

named tuple
N_ = collections.namedtuple("N_", "a b", defaults=[2.0])
n_ = N_(1.0)
> n_.a + n_.b + N_(1.0)._replace(a=4.0).a
! n_ = N_(V); globals()["n_"] = n_
! N_.__new__.__defaults__ = (V,)

enumeration
class E_(enum.Enum):
    a = 1.0
    b = 2.0
> E_.a.value + E_["b"].value + len(E_)
! E_.a._value_ = V

enumeration member
class E_(enum.Enum):
    a = 1.0
E_.a.k = 1.0
> E_.a.k
! E_.a.k = V

exception
e_ = ValueError(1.0)
> e_.args[0]
! e_.args = (V,)

partial
d_ = {"k": 1.0}
def f_(d, times=1.0):
    return d["k"] * times
p_ = functools.partial(f_, d_, times=2.0)
> p_()
! d_["k"] = V
! p_.keywords["times"] = V

cached property
class O_:
    k_ = 1.0
    @functools.cached_property
    def k(self):
        return self.k_
o_ = O_()
> o_.k
! o_.k_ = V; vars(o_).pop("k", None)
! vars(o_)["k"] = V

dispatch
@functools.singledispatch
def f_(value):
    return 1.0
> f_(2.0)
! f_.register(float, lambda value: V)

abstract class
class A_(abc.ABC):
    pass
class O_:
    pass
o_ = O_()
> 2.0 if isinstance(o_, A_) else 3.0
! A_.register(O_)

getters
class O_:
    k = 1.0
    def get(self):
        return self.k
o_ = O_()
o_.o = o_
l_ = [o_]
> operator.attrgetter("o.k")(o_) + operator.methodcaller("get")(o_) + operator.itemgetter(0)(l_).k
! o_.k = V
! O_.k = V

computed name
class O_:
    pass
o_ = O_()
o_.k1 = 1.0
> getattr(o_, "k" + str(1)) + getattr(o_, "k2", 0.5) + hasattr(o_, "k3")
! o_.k1 = V
! o_.k2 = V
! o_.k3 = V

computed name in a class
class O_:
    k1 = 1.0
> getattr(O_, "k" + str(1)) + getattr(O_, "k" + str(2), 0.5)
! O_.k1 = V
! O_.k2 = V

vars
class O_:
    pass
o_ = O_()
o_.k = 1.0
> vars(o_)["k"] + o_.__dict__["k"]
! o_.k = V

module
m_ = types.ModuleType("m_")
m_.k = 1.0
> m_.k
! m_.k = V

module lookup
m_ = types.ModuleType("m_")
m_.state = [1.0]
exec("def __getattr__(name):\\n    return state[0]", vars(m_))
> m_.k
! m_.state[0] = V
! m_.k = V

module of another class
class M_(types.ModuleType):
    k = 1.0
class N_(types.ModuleType):
    k = 2.0
m_ = M_("m_")
> m_.k
! M_.k = V
! m_.__class__ = M_ if V > 1.5 else N_

imported module
sys.modules["halfstep_random_"] = types.ModuleType("halfstep_random_")
sys.modules["halfstep_random_"].k = 1.0
def f_():
    import halfstep_random_
    return halfstep_random_.k
> f_()
! sys.modules["halfstep_random_"].k = V
! sys.modules["halfstep_random_"] = types.ModuleType("halfstep_random_"); sys.modules["halfstep_random_"].k = V

imported name
sys.modules["halfstep_random_"] = types.ModuleType("halfstep_random_")
sys.modules["halfstep_random_"].k = 1.0
def f_():
    from halfstep_random_ import k
    return k
> f_()
! sys.modules["halfstep_random_"].k = V

attribute of a library
math.gain_ = 1.0
collections.gain_ = 1.0
> math.gain_ * math.sqrt(4.0) + collections.gain_
! math.gain_ = V
! collections.gain_ = V

class of a library
collections.UserDict.gain_ = 1.0
> collections.UserDict(a=1.0).gain_
! collections.UserDict.gain_ = V

function of a library
math.twice_ = lambda v: v * 2
> math.twice_(1.5)
! math.twice_ = lambda v: v * V

built-in
builtins.gain_ = 1.0
> gain_
! builtins.gain_ = V

built-in function
builtins.least_ = min
> least_(1.0, 2.0)
! builtins.least_ = lambda *values: V

array of NumPy
a_ = np.array([1.0, 2.0, 3.0], np.float32)
v_ = a_[1:]
> float(a_[0]) + float(v_[0]) + float(a_.sum()) + float(np.sum(a_)) + float(np.dot(a_, a_))
! a_[0] = V
! a_[1] = V
! a_[:] = V

record
a_ = np.zeros(2, [("k", "f4")])
> float(a_["k"][0])
! a_["k"][0] = V

number of NumPy
n_ = np.float32(1.0)
> float(n_) + float(np.maximum(n_, np.float32(2)))
! globals()["n_"] = np.float32(V)

bytes
b_ = bytearray([1, 2, 3])
> float(b_[0] + len(b_))
! b_[0] = int(V)
! b_.append(int(V))

array
w_ = array(1.0, 2.0, 3.0)
> w_
! globals()["w_"] = array(V, 2.0, 3.0)
! w_.assign(array(V, 1.0, 1.0))

array in a class
class O_:
    w = array(1.0, 2.0, 3.0)
class P_(O_):
    pass
p_ = P_()
> p_.w
! O_.w = array(V, 2.0, 3.0)
! P_.w = array(V, 2.0, 3.0)
! p_.w = array(V, 1.0, 3.0)

array in lists
l_ = [array(1.0, 2.0, 3.0), {"w": array(1.0, 1.0, 1.0)}]
> l_[0] + l_[1]["w"]
! l_[0] = array(V, 2.0, 3.0)
! l_[1]["w"] = array(V, 2.0, 3.0)

layer
net_ = hs.nn.Linear(3, 3)
> net_(x.reshape(1, 3)).reshape(3)
! net_.weight = hs.nn.parameter(net_.weight * V)
! net_.bias = None
! net_.forward = lambda x: x * V

optimizer
net_ = hs.nn.Linear(3, 1)
step_ = hs.optim.SGD(net_.parameters(), 0.1, momentum=0.5)
def f_(x):
    step_.zero_grad()
    loss = net_(x.reshape(1, 3)).sum()
    loss.backward()
    step_.step()
    return loss
> f_(x)
! step_.learning_rate = V / 10
! step_.momentum = V / 10

method of arrays
hs.array.gain_ = lambda self: self * 2.0
> x.gain_()
! hs.array.gain_ = lambda self: self * V

function of the package
hs.gain_ = lambda v: v * 2.0
> hs.gain_(1.5)
! hs.gain_ = lambda v: v * V

counted
n_ = array(0.0)
def f_():
    n_.assign(n_ + 1)
    return n_
> f_()
! n_.assign(array(V))

written attribute
class O_:
    pass
o_ = O_()
o_.w = array(1.0)
def f_():
    o_.w = o_.w * 0.5 + 1
    return o_.w
> f_()
! o_.w = array(V)

random numbers
k_ = 1.0
> hs.uniform((3,)) * k_
! globals()["k_"] = V

context manager
state_ = [1.0]
@contextlib.contextmanager
def scope_():
    yield state_[0]
def f_():
    with scope_() as k:
        return k
> f_()
! state_[0] = V

generator
state_ = [1.0]
def each_():
    for _ in range(2):
        yield state_[0]
> sum(each_())
! state_[0] = V

callback
state_ = [1.0]
> sorted([1.0, 2.0], key=lambda v: v * state_[0])[0] + functools.reduce(lambda a, b: a + b * state_[0], [1.0, 2.0]) + sum(map(lambda v: v * state_[0], [1.0]))
! state_[0] = V
! state_[0] = -V

match
class P_:
    __match_args__ = ("k",)
    k = 1.0
p_ = P_()
def f_():
    match p_:
        case P_(v):
            return v
> f_()
! p_.k = V
! P_.k = V

copies
d_ = {"k": [1.0]}
> copy.deepcopy(d_)["k"][0] + copy.copy(d_)["k"][0]
! d_["k"][0] = V

name
class O_:
    pass
def f_():
    pass
> float(len(O_.__name__) + len(f_.__name__))
! O_.__name__ = "O" * int(V)
! f_.__name__ = "f" * int(V)

pattern
d_ = {"k": "a"}
> float(len(re.sub(d_["k"], "bb", "abba"))) + len(re.findall("a+", "aba"))
! d_["k"] = "a" if V > 1.5 else "b"
''')
)
"""What guards look at, so that functions of these are captured."""

STRANGE = list(
    _kinds('''
random
random.seed(1)
> random.random()
! random.seed(int(V))

random generator
r_ = random.Random(1)
> r_.random()
! r_.seed(int(V))

random of NumPy
np.random.seed(1)
r_ = np.random.default_rng(1)
> float(np.random.rand()) + float(r_.random())
! np.random.seed(int(V))

iterator
i_ = iter([1.0, 2.0, 3.0] * 30)
> next(i_)
! next(i_)

count
i_ = itertools.count(1)
> float(next(i_))
! next(i_)

generator that goes on
def g_():
    n = 0.0
    while True:
        n += 1
        yield n
i_ = g_()
> next(i_)
! next(i_)

deque
q_ = collections.deque([1.0, 2.0])
> q_[0] + len(q_)
! q_[0] = V
! q_.append(V)

method of a deque
q_ = collections.deque([1.0, 2.0])
size_ = q_.__len__
> float(size_())
! q_.append(V)

array of the library
a_ = arrays.array("d", [1.0, 2.0])
> a_[0]
! a_[0] = V

memory
b_ = bytearray([1, 2])
m_ = memoryview(b_)
> float(m_[0])
! b_[0] = int(V)

number of C
c_ = ctypes.c_double(1.0)
> c_.value
! c_.value = V

cache
d_ = {"k": 1.0}
@functools.lru_cache
def f_(n):
    return d_["k"] * n
> f_(2)
! d_["k"] = V
! f_.cache_clear()
! d_["k"] = V; f_.cache_clear()

proxy
d_ = {"k": 1.0}
p_ = types.MappingProxyType(d_)
> p_["k"]
! d_["k"] = V

view
d_ = {"k": 1.0}
v_ = d_.values()
> list(v_)[0]
! d_["k"] = V

array of objects
a_ = np.empty(1, object)
a_[0] = [1.0]
> a_[0][0]
! a_[0][0] = V

weak reference
class O_:
    pass
o_ = O_()
o_.k = 1.0
w_ = weakref.ref(o_)
> w_().k if w_() is not None else 7.0
! o_.k = V
! globals().pop("o_", None)

weak dict
class O_:
    pass
o_ = O_()
d_ = weakref.WeakKeyDictionary({o_: 1.0})
> d_.get(o_, 2.0)
! d_[o_] = V

context variable
c_ = contextvars.ContextVar("c_", default=1.0)
> c_.get()
! c_.set(V)

local of a thread
t_ = threading.local()
t_.k = 1.0
> t_.k
! t_.k = V

environment
os.environ["HS_RANDOM_"] = "1"
> float(os.environ["HS_RANDOM_"]) + float(os.getenv("HS_RANDOM_"))
! os.environ["HS_RANDOM_"] = str(V)

file
path_ = folder + "/file_"
open(path_, "w").write("1")
> float(open(path_).read())
! open(path_, "w").write(str(V))

path
path_ = folder + "/path_"
> 2.0 if os.path.exists(path_) else 3.0
! open(path_, "w").close()
! [os.remove(each) for each in [path_] if os.path.exists(each)]

path object
path_ = pathlib.Path(folder) / "pathlib_"
> 2.0 if path_.exists() else 3.0
! path_.touch()
! path_.unlink(missing_ok=True)

decimal
decimal.getcontext().prec = 9
> float(decimal.Decimal(1) / decimal.Decimal(7))
! decimal.getcontext().prec = int(V) + 1

decimal numbers
decimal.getcontext().prec = 9
a_, b_ = decimal.Decimal(1), decimal.Decimal(7)
> float(a_ / b_)
! decimal.getcontext().prec = int(V) + 1

configuration
c_ = configparser.ConfigParser()
c_["a"] = {"k": "1"}
> c_.getfloat("a", "k")
! c_["a"]["k"] = str(V)

modules
sys.modules["halfstep_random_"] = types.ModuleType("halfstep_random_")
sys.modules["halfstep_random_"].k = 1.0
> sys.modules["halfstep_random_"].k
! sys.modules["halfstep_random_"].k = V

imported by name
sys.modules["halfstep_random_"] = types.ModuleType("halfstep_random_")
sys.modules["halfstep_random_"].k = 1.0
> importlib.import_module("halfstep_random_").k + __import__("halfstep_random_").k
! sys.modules["halfstep_random_"].k = V

globals
k_ = 1.0
> globals()["k_"]
! globals()["k_"] = V

eval
k_ = 1.0
> eval("k" + "_")
! globals()["k_"] = V

exec
k_ = 1.0
def f_():
    scope = dict(globals())
    exec("r = k" + "_", scope)
    return scope["r"]
> f_()
! globals()["k_"] = V

frame
k_ = 1.0
> sys._getframe().f_globals["k" + "_"]
! globals()["k_"] = V

inspected
k_ = 1.0
> inspect.currentframe().f_globals["k" + "_"]
! globals()["k_"] = V

globals of a function
k_ = 1.0
def f_():
    pass
> f_.__globals__["k" + "_"]
! globals()["k_"] = V

cell
def make_():
    k = 1.0
    def get():
        return k
    return get
get_ = make_()
c_ = get_.__closure__[0]
> c_.cell_contents
! c_.cell_contents = V

subclasses
class O_:
    pass
kept_ = []
> float(len(O_.__subclasses__()))
! kept_.append(type("P_", (O_,), {}))

objects
kept_ = [O_ := type("O_", (), {})]
> float(sum(type(each) is O_ for each in gc.get_objects()))
! kept_.append(O_()); globals()["kept_"] = kept_

thread
state_ = [1.0]
pool_ = futures.ThreadPoolExecutor(1)
> pool_.submit(lambda: x * state_[0]).result()
! state_[0] = V

thread of its own
state_ = [1.0]
def f_(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(x * state_[0]))
    thread.start()
    thread.join()
    return found[0]
> f_(x)
! state_[0] = V

coroutine
state_ = [1.0]
async def wait_():
    await asyncio.sleep(0)
    return state_[0]
> asyncio.run(wait_())
! state_[0] = V

log
l_ = logging.getLogger("halfstep_random_")
l_.setLevel(10)
> float(l_.getEffectiveLevel())
! l_.setLevel(int(V))

recursion
sys.setrecursionlimit(3000)
> float(sys.getrecursionlimit())
! sys.setrecursionlimit(3000 + int(V))

called by C
sys.setrecursionlimit(3000)
p_ = functools.partial(sys.getrecursionlimit)
> float(p_())
! sys.setrecursionlimit(3000 + int(V))

called by an iterator
sys.setrecursionlimit(3000)
> float(next(iter(sys.getrecursionlimit, 0)))
! sys.setrecursionlimit(3000 + int(V))

pickled
d_ = {"k": [1.0]}
> pickle.loads(pickle.dumps(d_))["k"][0]
! d_["k"][0] = V

text
d_ = {"k": 1.0}
> json.loads(json.dumps(d_))["k"]
! d_["k"] = V

stream
s_ = io.StringIO("1 2 3 4 5 6 7 8 9 " * 20)
> float(s_.read(2))
! s_.seek(0)

sequence of a heap
h_ = [1.0, 2.0, 3.0]
def f_():
    heapq.heappush(h_, heapq.heappop(h_) + 1)
    return h_[0]
> f_()
! h_[0] = V

appended
l_ = []
def f_():
    l_.append(1)
    return float(len(l_))
> f_()
! l_.clear()

counter of calls
n_ = 0
def f_():
    global n_
    n_ += 1
    return float(n_)
> f_()
! globals()["n_"] = int(V)

clock
clock_ = [time.time]
last_ = [0]
def f_():
    now = time.perf_counter_ns()
    later, last_[0] = now > last_[0], now
    return float(later)
> f_()
! last_[0] = 0

written to NumPy
a_ = np.zeros(1, np.float32)
def f_():
    a_[0] += 1
    return float(a_[0])
> f_()
! a_[0] = V

replaced by itself
class P_:
    k = 1.0
class Q_:
    k = 2.0
o_ = P_()
def f_():
    o_.__class__ = Q_ if type(o_) is P_ else P_
    return o_.k
> f_()
! o_.__class__ = P_

default set by itself
def g_(k=1.0):
    return k
def f_():
    g_.__defaults__ = (g_() + 1,)
    return g_()
> f_()
! g_.__defaults__ = (V,)

stored elsewhere
def f_():
    math.gain_ = getattr(math, "gain_", 0.0) + 1
    return math.gain_
math.gain_ = 0.0
> f_()
! math.gain_ = V
''')
)
"""What no guard looks at, or what is not the same twice: functions of these run step by step, or every call is another kind."""
