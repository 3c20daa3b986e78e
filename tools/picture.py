#!/usr/bin/env python3
"""Draw docs/proof.svg: the proof of a quickstart, layer by layer.

usage: tools/picture.py quickstart_out/report.json docs/proof.svg
"""
import json
import pathlib
import sys

from svg import BAD, FAINT, GOOD, box, document, text

ROW, TOP, WIDTH = 26, 76, 860
LAYER, OPERATOR, BITS, CODES, BAR, DIFFER = 24, 114, 250, 420, 446, 836
MOST_DECIBELS, LONGEST, BLUE = 60, 250, "#9ec5fe"


def head():
    names = ((LAYER, "layer", "start"), (OPERATOR, "operator", "start"), (BITS, "bits", "start"),
             (CODES, "codes compared", "end"), (BAR, "SQNR against float, dB", "start"), (DIFFER, "differ", "end"))
    return [text(x, TOP - 14, name, FAINT, anchor) for x, name, anchor in names]


def row(layer, y):
    kinds = ("w", "weight_bits"), ("a", "activation_bits")
    bits = " ".join(f"{kind}{layer[key]}" for kind, key in kinds if layer[key])
    length = round(LONGEST * min(layer["sqnr_db"], MOST_DECIBELS) / MOST_DECIBELS)
    differing = layer["differing"] + layer["parameters_differing"]
    return [text(LAYER, y, layer["name"], weight="bold"), text(OPERATOR, y, layer["op"], FAINT),
            text(BITS, y, bits, FAINT), text(CODES, y, f"{layer['compared']:,}", anchor="end"),
            box(BAR, y - 13, length, 17, BLUE, BLUE, 2),
            text(BAR + length - 6, y, f"{layer['sqnr_db']:.1f}", anchor="end"),
            text(DIFFER, y, differing, BAD if differing else GOOD, "end", "bold")]


def picture(report):
    layers, accuracy, size = report["layers"], report["accuracy"], report["model_bytes"]
    end = TOP + ROW * len(layers)
    compared = sum(layer["compared"] + layer["parameters_compared"] for layer in layers)
    title = f"{report['platform']}: prepared model and integer program, code for code"
    lines = [text(LAYER, 34, title, weight="bold"), *head()]
    for i, layer in enumerate(layers):
        lines += row(layer, TOP + ROW * i + 10)
    verdict = f"{'equal' if report['equal'] else 'not equal'}: {compared:,} codes over {report['samples']} test samples"
    lines += [text(LAYER, end + 22, verdict, GOOD if report["equal"] else BAD, weight="bold"),
              text(LAYER, end + 46, f"accuracy: float {accuracy['float']:.2%}, integers {accuracy['integer']:.2%}; "
                   f"files: {size['float'] / 1000:.1f} kB and {size['integer'] / 1000:.1f} kB", FAINT)]
    return document(WIDTH, end + 64, lines)


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(picture(json.loads(pathlib.Path(sys.argv[1]).read_text())))
