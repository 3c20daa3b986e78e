"""Networks made of layers, in Python alone.

    class Net(hs.nn.Module):
        def __init__(self):
            self.hidden, self.out = hs.nn.Linear(64, 32), hs.nn.Linear(32, 10)

        def forward(self, x):
            return self.out(self.hidden(x).relu())

A module holds only arrays and settings. Parameters are arrays that require a gradient, and buffers are the other
arrays. They are found in attributes, in modules, and in lists, tuples and dicts of both. Names and behaviour follow
torch.nn. Module.train() and Module.eval() set the mode of a module. Without either, hs.train_mode does. hs.device sets
where arrays are made, and hs.seed sets their initial random values.
"""

from halfstep.basic_layers import (
    BatchNorm2d,
    Dropout,
    ELU,
    Embedding,
    Flatten,
    GELU,
    Hardsigmoid,
    Hardswish,
    LSTMCell,
    LayerNorm,
    LeakyReLU,
    Linear,
    Mish,
    RNNCell,
    ReLU,
    ReLU6,
    Sequential,
    SiLU,
    Sigmoid,
    Softmax,
    Softplus,
    Tanh,
    cross_entropy,
    mse,
    mse_loss,
)
from halfstep.image_layers import (
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
    PReLU,
    Upsample,
)
from halfstep.modules import Module, parameter
from halfstep.sequence_layers import GRU, LSTM, MultiheadAttention, RNN, TransformerEncoderLayer

__all__ = [
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Dropout",
    "ELU",
    "Embedding",
    "Flatten",
    "GELU",
    "GRU",
    "GroupNorm",
    "Hardsigmoid",
    "Hardswish",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LSTM",
    "LSTMCell",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "Mish",
    "Module",
    "MultiheadAttention",
    "PReLU",
    "RNN",
    "RNNCell",
    "ReLU",
    "ReLU6",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "TransformerEncoderLayer",
    "Upsample",
    "cross_entropy",
    "mse",
    "mse_loss",
    "parameter",
]
