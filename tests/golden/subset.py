#!/usr/bin/env python3
"""Selects a small representative part of the golden files: for each operator and kind of case, the cases with the
smallest tensors.

usage: tests/golden/subset.py GOLDEN_FOLDER     (writes paddle, torch and onnx .json and .safetensors beside this
script)
"""
import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
PER_KIND = 2
LARGEST = 8192  # maximum bytes of a tensor


def read_tensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"], data[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]])
            for name, entry in header.items()}


def write_tensors(path, tensors):
    header, offset = {}, 0
    for name, (dtype, shape, data) in sorted(tensors.items()):
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(tensors[name][2] for name in sorted(tensors)))


def tensors_of(case):
    for ports in (case["in"], case.get("out") or {}, case.get("out_reference") or {}):
        for name in ports.values():
            yield from name if isinstance(name, list) else [name] if name is not None else []


def kind_of(case):
    """Flags and modes of a case, without its numbers."""
    flags = tuple((key, value) for key, value in sorted(case["attr"].items())
                  if isinstance(value, (bool, str)) or key in ("round_type", "quant_axis", "axis", "block_size"))
    return case["op"], flags, "error" in case, tuple(sorted((case.get("type") or {}).values()))


def main():
    folder = pathlib.Path(sys.argv[1])
    for stem in ("paddle", "torch", "onnx"):
        tensors = read_tensors(folder / f"{stem}.safetensors")
        taken, kept = {}, []
        for case in json.loads((folder / f"{stem}.json").read_text()):
            small = all(len(tensors[name][2]) <= LARGEST for name in tensors_of(case))
            kind = kind_of(case)
            if small and taken.get(kind, 0) < PER_KIND:
                taken[kind] = taken.get(kind, 0) + 1
                kept.append(case)
        used = {name for case in kept for name in tensors_of(case)}
        write_tensors(HERE / f"{stem}.safetensors", {name: tensors[name] for name in used})
        (HERE / f"{stem}.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in kept) + "\n]\n")
        print(f"{stem}: {len(kept)} cases of {len({case['op'] for case in kept})} operators")


if __name__ == "__main__":
    main()
