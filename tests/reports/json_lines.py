"""Command lines that print JSON, by the name of the schema that describes it."""

import functools
import pathlib
import shutil
import subprocess

import onnx

import verbs

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "torch.json"

LINES = {
    "quickstart": ["quickstart IN/f.onnx SOME --tune-epochs 1 --out there/quick"],
    "data": ["data SOME", "data IN/x.npy"],
    "train": [
        "train --network IN/tiny.ir SOME --epochs 1 --out there/fresh",
        "train IN/p.st SOME --epochs 2 --profile --freeze-oscillating 0.02 --renormalize 2 --out there/tuned",
        "train IN/f.st SOME --epochs 1 --loss cross_entropy --out there/loss",
        "train IN/f.st SOME --epochs 1 --bits-schedule 8,4 --out there/stages",
    ],
    "eval": ["eval IN/i.st SOME --top 2", "eval IN/f.st SOME"],
    "explain": ["explain HS1000"],
    "explain_all": ["explain"],
    "run": ["run IN/f.onnx --inputs IN/x.npy", "run IN/i.st --inputs IN/x.npy --expect IN/y.npz"],
    "quantize": [
        "quantize IN/f.onnx SOME --out there/p.st",
        "quantize IN/f.st SOME --skip-layers mid --platform snpe --out there/p.st",
        "quantize IN/f.st SOME --repair auto --repair-steps 2 --out there/p.st",
        "inspect IN/p.st --audit",
    ],
    "convert": ["convert IN/p.st --out there/i.st"],
    "export": ["export IN/p.st --format qdq --out there/q.onnx", "export IN/i.st --out there/i.onnx"],
    "export_deploy": ["export IN/snpe.st --format deploy --out there/chip"],
    "export_c": ["export IN/p.st --format c --main --out there/c"],
    "verify": ["verify IN/p.st IN/i.st SOME", "verify IN/p.st IN/i.st SOME --inject conv:17", "verify IN/p.st IN/i.st --data IN/x.npy"],
    "analyze": ["analyze IN/p.st SOME", "analyze IN/p.st --data IN/x.npy"],
    "bits": [
        "bits IN/p.st --samples 16 --threads 1 --budget size<=50kB --choose-first-last --epochs 1 --repair blocks --repair-steps 2 "
        "--program-out there/i.st --out there/p.st",
        "bits IN/p.st --data IN/x.npy --threads 1 --budget size<=50kB --out there/p.st",
    ],
    "report": ["report IN/p.st IN/i.st SOME --analyzed 16 --out there/page.html"],
    "dump": ["dump IN/i.st --samples 1 --threads 1 --out there/values", "dump IN/f.st --samples 1 --format npy --layout nchw --out there/values"],
    "compare": ["compare IN/values IN/values", "compare IN/i.st IN/board --samples 1 --threads 1", "compare IN/values IN/board"],
    "inspect": ["inspect IN/i.st --explain", "inspect IN/p.st --platform onnxruntime_int8", "inspect IN/f.st"],
    "inspect_file": ["inspect IN/f.onnx --nodes", "inspect IN/f.onnx --platform magik_t40", "inspect IN/strange.onnx --platform generic_int8"],
    "inspect_why": ["inspect IN/p.st --why conv", "inspect IN/p.st --why flat"],
    "platform_check": ["platform check IN/mine.yaml", "platform check IN/wrong.yaml"],
    "platform": ["platform show snpe", "platform show vitis", "platform new there/mine.yaml"],
    "platform_diff": ["platform diff snpe generic_int8"],
    "platform_list": ["platform list"],
    "platform_keys": ["platform keys"],
    "op": ["op check 'relu x=f32[2,3]'", "op speed 'relu x=f32[2,3]'"],
    "op_golden": [f"op golden {GOLDEN}"],
    "pass": ["pass all IN/f.st --print-after all --out there/f.st"],
    "pass_list": ["pass --list"],
    "fuzz": ["fuzz --seeds 1 --check equivalence --threads 1", "fuzz --seeds 5 --check c --threads 1 --out there/found"],
    "errors": ["quantize nowhere.onnx --data digits --out there/p.st"],
}

SAID = {line: name for name, lines in LINES.items() for line in lines}
"""The schema of each line."""


@functools.cache
def prepare():
    """Add files to the inputs of `verbs`: outputs, a dump with a wrong code, a record with a wrong key, and a file that cannot be imported."""
    folder = verbs.inputs()
    subprocess.run(verbs.command("run IN/i.st --inputs IN/x.npy --outputs y.npz", folder), cwd=folder, check=True, capture_output=True)
    shutil.copytree(folder / "values", folder / "board")
    dumped = min((folder / "board").glob("*_conv.*"))
    codes = bytearray(dumped.read_bytes())
    codes[0] ^= 128
    dumped.write_bytes(codes)
    record = (folder / "mine.yaml").read_text(encoding="utf-8")
    (folder / "wrong.yaml").write_text(record.replace("weights:", "weight:", 1), encoding="utf-8")
    model = onnx.load(folder / "f.onnx")
    model.graph.node[0].op_type = "Strange"
    onnx.save(model, folder / "strange.onnx")


def ended(line):
    """The command with --json, and the JSON that it printed: on standard error if it fails."""
    prepare()
    done = verbs.whole(line + " --json")
    return done, done.err if SAID[line] == "errors" else done.out
