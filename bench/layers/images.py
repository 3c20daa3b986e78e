"""Networks on images and volumes with layers beyond plain convolutions, with random weights."""
import torch
import torchvision
from torch import nn
from torch.nn import functional as F


def conv(inputs, outputs, kernel=3, stride=1, act=nn.ReLU, conv_of=nn.Conv2d, norm=nn.BatchNorm2d):
    return nn.Sequential(conv_of(inputs, outputs, kernel, stride, kernel // 2, bias=False), norm(outputs), act())


def twice(inputs, outputs, **kinds):
    return nn.Sequential(conv(inputs, outputs, **kinds), conv(outputs, outputs, **kinds))


class UNet(nn.Module):
    """Upsampled by a transposed convolution, and padded to the extents of the skip connection."""

    def __init__(self, width=8):
        super().__init__()
        widths = [width, 2 * width, 4 * width]
        self.down = nn.ModuleList(twice(i, o) for i, o in zip([3, *widths], [*widths, 8 * width]))
        self.up = nn.ModuleList(self.upsampling(2 * w, w) for w in reversed(widths))
        self.join = nn.ModuleList(twice(2 * w, w) for w in reversed(widths))
        self.head = nn.Conv2d(width, 4, 1)

    def upsampling(self, inputs, outputs):
        return nn.ConvTranspose2d(inputs, outputs, 2, 2)

    def upsampled(self, up, x, skip):
        x = up(x)
        rows, columns = skip.shape[2] - x.shape[2], skip.shape[3] - x.shape[3]
        return F.pad(x, (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2))

    def forward(self, x):
        skips = []
        for block in self.down[:-1]:
            skips.append(block(x))
            x = F.max_pool2d(skips[-1], 2)
        x = self.down[-1](x)
        for up, join, skip in zip(self.up, self.join, reversed(skips)):
            x = join(torch.cat((skip, self.upsampled(up, x, skip)), 1))
        return self.head(x)


class BilinearUNet(UNet):
    """Resized to the extents of the skip connection."""

    def upsampling(self, inputs, outputs):
        return nn.Conv2d(inputs, outputs, 1)

    def upsampled(self, up, x, skip):
        return F.interpolate(up(x), size=skip.shape[2:], mode="bilinear", align_corners=False)


class Segmenter(nn.Module):
    """Returns the map of a network of torchvision."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x)["out"]


def deeplabv3():
    return Segmenter(torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=8))


def lraspp():
    return Segmenter(torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=8))


def fsrcnn(width=32, narrow=8, factor=3):
    def unit(inputs, outputs, kernel):
        return [nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2), nn.PReLU(outputs)]

    middle = [layer for _ in range(4) for layer in unit(narrow, narrow, 3)]
    last = nn.ConvTranspose2d(width, 1, 9, factor, 4, output_padding=factor - 1)
    return nn.Sequential(*unit(1, width, 5), *unit(width, narrow, 1), *middle, *unit(narrow, width, 1), last)


def espcn(factor=3):
    layers = [nn.Conv2d(1, 32, 5, padding=2), nn.Tanh(), nn.Conv2d(32, 16, 3, padding=1), nn.Tanh(), nn.Conv2d(16, factor**2, 3, padding=1)]
    return nn.Sequential(*layers, nn.PixelShuffle(factor), nn.Sigmoid())


class StyleTransfer(nn.Module):
    """Reflected borders, instance norms, and nearest upsampling."""

    def __init__(self, width=8):
        super().__init__()

        def unit(inputs, outputs, kernel, stride=1):
            return nn.Sequential(nn.ReflectionPad2d(kernel // 2), nn.Conv2d(inputs, outputs, kernel, stride), nn.InstanceNorm2d(outputs, affine=True))

        self.down = nn.ModuleList([unit(3, width, 9), unit(width, 2 * width, 3, 2), unit(2 * width, 4 * width, 3, 2)])
        self.residual = nn.ModuleList(nn.Sequential(unit(4 * width, 4 * width, 3), nn.ReLU(), unit(4 * width, 4 * width, 3)) for _ in range(2))
        self.up = nn.ModuleList([unit(4 * width, 2 * width, 3), unit(2 * width, width, 3)])
        self.last = nn.Sequential(nn.ReflectionPad2d(4), nn.Conv2d(width, 3, 9))

    def forward(self, x):
        for layer in self.down:
            x = F.relu(layer(x))
        for block in self.residual:
            x = x + block(x)
        for layer in self.up:
            x = F.relu(layer(F.interpolate(x, scale_factor=2, mode="nearest")))
        return self.last(x)


def autoencoder(width=8):
    def up(inputs, outputs):
        return nn.ConvTranspose2d(inputs, outputs, 3, 2, 1, output_padding=1)

    down = [conv(1, width, stride=2), conv(width, 2 * width, stride=2), conv(2 * width, 4 * width, stride=2)]
    return nn.Sequential(*down, up(4 * width, 2 * width), nn.ReLU(), up(2 * width, width), nn.ReLU(), up(width, 1), nn.Sigmoid())


def r3d_18():
    return torchvision.models.video.r3d_18(weights=None, num_classes=10)


class UNet3d(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        kinds = {"conv_of": nn.Conv3d, "norm": nn.InstanceNorm3d}
        self.down = nn.ModuleList([twice(1, width, **kinds), twice(width, 2 * width, **kinds), twice(2 * width, 4 * width, **kinds)])
        self.up = nn.ModuleList([nn.ConvTranspose3d(4 * width, 2 * width, 2, 2), nn.ConvTranspose3d(2 * width, width, 2, 2)])
        self.join = nn.ModuleList([twice(4 * width, 2 * width, **kinds), twice(2 * width, width, **kinds)])
        self.head = nn.Conv3d(width, 3, 1)

    def forward(self, x):
        skips = []
        for block in self.down[:-1]:
            skips.append(block(x))
            x = F.max_pool3d(skips[-1], 2)
        x = self.down[-1](x)
        for up, join, skip in zip(self.up, self.join, reversed(skips)):
            x = join(torch.cat((skip, up(x)), 1))
        return self.head(x)


class FaceNetwork(nn.Module):
    """Inverted bottlenecks with PReLU, a depthwise layer over the whole map, and a norm of the embedding."""

    def __init__(self, width=16, side=64):
        super().__init__()

        def unit(inputs, outputs, kernel, stride=1, groups=1, padding=None, act=True):
            layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2 if padding is None else padding, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
            return nn.Sequential(*layers, *([nn.PReLU(outputs)] if act else []))

        def bottleneck(inputs, outputs, stride):
            return nn.Sequential(unit(inputs, 2 * inputs, 1), unit(2 * inputs, 2 * inputs, 3, stride, 2 * inputs), unit(2 * inputs, outputs, 1, act=False))

        self.stem = nn.Sequential(unit(3, width, 3, 2), unit(width, width, 3, 1, width))
        self.blocks = nn.ModuleList([bottleneck(width, width, 2), bottleneck(width, width, 1), bottleneck(width, 2 * width, 2), bottleneck(2 * width, 2 * width, 1)])
        self.last = nn.Sequential(unit(2 * width, 4 * width, 1), unit(4 * width, 4 * width, side // 8, groups=4 * width, padding=0, act=False))
        self.head = nn.Sequential(nn.Linear(4 * width, 32, bias=False), nn.BatchNorm1d(32))

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            y = block(x)
            x = x + y if x.shape == y.shape else y
        return F.normalize(self.head(self.last(x).flatten(1)))


def vit_b_16(side=64):
    network = torchvision.models.VisionTransformer(image_size=side, patch_size=16, num_layers=12, num_heads=12, hidden_dim=768, mlp_dim=3072, num_classes=10)
    torch.nn.init.normal_(network.heads.head.weight, std=0.02)  # torchvision starts with zeros
    return network


def swin_t():
    return torchvision.models.swin_t(weights=None, num_classes=10)
