"""Networks on sequences, with random weights."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class CausalBlock(nn.Module):
    """Two dilated convolutions whose end is cut off, so that no step reads a later one."""

    def __init__(self, inputs, outputs, kernel, dilation):
        super().__init__()
        self.padding = (kernel - 1) * dilation
        self.first = nn.utils.parametrizations.weight_norm(nn.Conv1d(inputs, outputs, kernel, padding=self.padding, dilation=dilation))
        self.second = nn.utils.parametrizations.weight_norm(nn.Conv1d(outputs, outputs, kernel, padding=self.padding, dilation=dilation))
        self.shortcut = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x):
        y = F.relu(self.first(x)[:, :, :-self.padding].contiguous())
        y = F.relu(self.second(y)[:, :, :-self.padding].contiguous())
        return F.relu(y + self.shortcut(x))


def temporal_convolutions(width=16):
    blocks = [CausalBlock(inputs, width, 3, 1 << level) for level, inputs in enumerate((4, width, width))]
    return nn.Sequential(*blocks, nn.Conv1d(width, 5, 1))


class PlateReader(nn.Module):
    """Columns of an image are the steps of a recurrent layer. Returns log probabilities for CTC."""

    def __init__(self, width=8, classes=12):
        super().__init__()
        layers, inputs = [], 1
        for outputs, pool in ((width, (2, 2)), (2 * width, (2, 2)), (4 * width, (2, 1)), (4 * width, (2, 1))):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(pool)]
            inputs = outputs
        self.features = nn.Sequential(*layers)
        self.lstm = nn.LSTM(2 * inputs, 24, num_layers=2, bidirectional=True)
        self.head = nn.Linear(48, classes)

    def forward(self, x):
        maps = self.features(x)
        steps = maps.flatten(1, 2).permute(2, 0, 1)
        return F.log_softmax(self.head(self.lstm(steps)[0]), 2)


class KeywordSpotter(nn.Module):
    """A convolution over frames of a spectrum, then a GRU whose last state decides."""

    def __init__(self, bands=20, width=24, classes=6):
        super().__init__()
        self.conv = nn.Conv1d(bands, width, 5, 2, 2)
        self.gru = nn.GRU(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        frames = F.relu(self.conv(x)).transpose(1, 2)
        return self.head(self.gru(frames)[0][:, -1])


class Translator(nn.Module):
    """An encoder and a decoder of LSTM. Each step of the decoder attends to all steps of the encoder."""

    def __init__(self, words=50, width=24):
        super().__init__()
        self.read, self.write = nn.Embedding(words, width), nn.Embedding(words, width)
        self.encoder = nn.LSTM(width, width, batch_first=True)
        self.decoder = nn.LSTM(width, width, batch_first=True)
        self.key = nn.Linear(width, width)
        self.join, self.head = nn.Linear(2 * width, width), nn.Linear(width, words)

    def forward(self, source, written):
        memory, state = self.encoder(self.read(source))
        steps, _ = self.decoder(self.write(written), state)
        shares = torch.softmax(steps @ self.key(memory).transpose(1, 2), 2)
        return self.head(torch.tanh(self.join(torch.cat((shares @ memory, steps), 2))))


class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.turn = heads, None
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def by_head(self, x):
        return x.view(x.size(0), x.size(1), self.heads, x.size(2) // self.heads).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = (self.by_head(layer(x)) for layer in (self.query, self.key, self.value))
        if self.turn:
            q, k = self.turn(q), self.turn(k)
        scores = q @ k.transpose(2, 3) / math.sqrt(q.size(3)) + mask
        seen = (torch.softmax(scores, 3) @ v).permute(0, 2, 1, 3).contiguous()
        x = self.first(x + self.out(seen.view(x.size(0), x.size(1), x.size(2))))
        return self.second(x + self.narrow(F.gelu(self.wide(x))))


class Bert(nn.Module):
    """Positions are a slice of a stored list, and the mask is spread over rows, as transformers writes them."""

    def __init__(self, words=100, longest=64, width=32, heads=4, layers=2):
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(words, width), nn.Embedding(longest, width), nn.Embedding(2, width)
        self.register_buffer("positions", torch.arange(longest).expand((1, -1)))
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(EncoderLayer(width, heads) for _ in range(layers))
        self.pool, self.head = nn.Linear(width, width), nn.Linear(width, 3)

    def forward(self, ids, mask, kinds):
        batch, length = ids.shape
        x = self.norm(self.words(ids) + self.kinds(kinds) + self.places(self.positions[:, :length]))
        seen = mask[:, None, None, :].expand(batch, 1, length, length).to(x.dtype)
        hidden = 1.0 - seen
        hidden = hidden.masked_fill(hidden.to(torch.bool), torch.finfo(x.dtype).min)
        for layer in self.layers:
            x = layer(x, hidden)
        return x, self.head(torch.tanh(self.pool(x[:, 0])))


class Decoder(nn.Module):
    """A causal transformer whose positions are numbers that the network computes: `kind` is rotary, alibi, relative or
    waves."""

    def __init__(self, kind, words=100, width=32, heads=4, layers=2):
        super().__init__()
        self.kind, self.heads = kind, heads
        self.words = nn.Embedding(words, width)
        self.register_buffer("rates", 1.0 / 100 ** (torch.arange(0, width // heads, 2) / (width // heads)))
        self.register_buffer("wave_rates", 1.0 / 100 ** (torch.arange(0, width, 2) / width))
        self.bias = nn.Embedding(8, heads)
        self.layers = nn.ModuleList(EncoderLayer(width, heads) for _ in range(layers))
        for layer in self.layers:
            layer.turn = self.turned if kind == "rotary" else None
        self.head = nn.Linear(width, words)

    def turned(self, x):
        angles = torch.arange(x.size(2), device=x.device).to(x.dtype)[:, None] * self.rates[None]
        angles = torch.cat((angles, angles), 1)
        left, right = x.chunk(2, 3)
        return x * angles.cos() + torch.cat((-right, left), 3) * angles.sin()

    def positions(self, x):
        steps = torch.arange(x.size(1), device=x.device)
        hidden = torch.full((x.size(1), x.size(1)), -1e4).triu(1) if self.kind != "waves" else torch.where(steps[None] > steps[:, None], float("-inf"), 0.0)
        apart = steps[:, None] - steps[None]
        if self.kind == "alibi":
            slopes = torch.tensor([2.0 ** -(i + 1) for i in range(self.heads)])
            return hidden - slopes[:, None, None] * apart.clamp(min=0)
        if self.kind == "relative":
            near = apart.clamp(0, 3)
            far = 4 + (torch.log(apart.clamp(min=4).float() / 4) / math.log(8) * 3).long().clamp(max=3)
            return self.bias(torch.where(apart < 4, near, far)).permute(2, 0, 1)[None] + hidden
        return hidden

    def forward(self, ids):
        x = self.words(ids)
        if self.kind == "waves":
            angles = torch.arange(x.size(1), device=x.device).float()[:, None] * self.wave_rates
            x = x + torch.stack((angles.sin(), angles.cos()), 2).flatten(1)
        mask = self.positions(x)
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x)
