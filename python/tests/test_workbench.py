"""Networks in Python. Every verb writes the same bytes as the command line, and reports the same errors."""

import copy
import json
import os
import pickle
import shutil
import signal
import subprocess
import threading
import time

import numpy as np
import pytest

import halfstep as hs
from raising import raises

PROGRAM = os.environ.get("HALFSTEP_PROGRAM", "build/release/halfstep")


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True, timeout=6000).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory, samples):
    """Write a trained network, and its samples as a file."""
    path = tmp_path_factory.mktemp("workbench")
    np.savez(path / "samples.npz", x=samples[0], labels=samples[1])
    run("train", "--data", path / "samples.npz", "--epochs", 3, "--out", path / "run")
    return path


@pytest.fixture(scope="module")
def network(folder):
    return hs.load(folder / "run/model.safetensors")


@pytest.fixture(scope="module")
def prepared(network, samples):
    return hs.quantize(network, data=samples)


@pytest.fixture(scope="module")
def program(prepared):
    return hs.convert(prepared)


def same_file(model, path, tmp_path):
    model.save(tmp_path / "own.safetensors")
    assert (tmp_path / "own.safetensors").read_bytes() == path.read_bytes()


STAYS = {"magik_t02": ["conv2"]}  # The chip has no depthwise convolution.


def test_a_teacher_does_what_it_does_on_the_command_line(folder, network, samples, tmp_path):
    data, teacher = folder / "samples.npz", folder / "run/model.safetensors"
    prepared = hs.quantize(network, "generic_int8", data=samples, weight_bits=4, activation_bits=4)
    prepared.save(tmp_path / "prepared.safetensors")
    distilled = prepared.copy()
    fit = hs.train(distilled, samples, epochs=1, teacher=hs.load(teacher), teacher_weight=4, weight_decay=1e-3)
    told = json.loads(run("train", tmp_path / "prepared.safetensors", "--data", data, "--epochs", 1, "--teacher", teacher, "--teacher-weight", 4,
                          "--weight-decay", 1e-3, "--out", tmp_path / "distilled", "--json"))  # fmt: skip
    same_file(distilled, tmp_path / "distilled/model.safetensors", tmp_path)
    assert fit.values["validation"] == told["validation"]
    assert fit.values["loss"] == told["loss"]
    assert 0 <= told["validation"]["teacher"]["accuracy"] <= 1
    alone = hs.train(prepared.copy(), samples, epochs=1, weight_decay=1e-3)
    assert "teacher" not in alone.values["validation"]
    assert alone.values["loss"] < fit.values["loss"]


@pytest.mark.parametrize("platform", hs.platforms())
def test_every_verb_gives_the_bytes_of_the_command_line(folder, network, samples, platform, tmp_path):
    model, data = folder / "run/model.safetensors", folder / "samples.npz"
    prepared_file, integer_file = tmp_path / "prepared.safetensors", tmp_path / "integer.safetensors"
    stays = STAYS.get(platform, [])
    run("quantize", model, "--platform", platform, "--calibrate", data, "--out", prepared_file, *(word for layer in stays for word in ("--skip-layers", layer)))
    prepared = hs.quantize(network, platform, data=samples, skip_layers=stays)
    same_file(prepared, prepared_file, tmp_path)
    run("train", "--model", prepared_file, "--data", data, "--epochs", 1, "--out", tmp_path / "tuned")
    fit = hs.train(prepared, samples, epochs=1)
    same_file(prepared, tmp_path / "tuned/model.safetensors", tmp_path)
    assert fit.digest == prepared.digest
    if platform == "nnie":
        with pytest.raises(hs.UnsupportedError):
            hs.convert(prepared, float_fallback=True)
        return
    run("convert", tmp_path / "tuned/model.safetensors", "--float-fallback", "--out", integer_file)
    program = hs.convert(prepared, float_fallback=True)
    same_file(program, integer_file, tmp_path)
    told = json.loads(run("verify", tmp_path / "tuned/model.safetensors", integer_file, "--data", data, "--json"))
    proof = hs.verify(prepared, program, samples)
    assert proof and proof.equal and proof.values == told
    assert hs.evaluate(program, samples) == json.loads(run("eval", "--model", integer_file, "--data", data, "--json"))["accuracy"]


def test_a_program_in_c_is_that_of_the_command_line(folder, prepared, program, samples, tmp_path):
    prepared.save(tmp_path / "prepared.safetensors")
    run("export", tmp_path / "prepared.safetensors", "--format", "c", "--name", "net", "--main", "--hooks", "--out", tmp_path / "told")
    written = hs.export(prepared, tmp_path / "own", format="c", name="net", main=True, hooks=True)
    assert written.files == ["net.h", "net.c", "net_main.c"] and written.memory > 0
    for name in written.files:
        assert (tmp_path / "own" / name).read_bytes() == (tmp_path / "told" / name).read_bytes()
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    assert hs.verify(prepared, program, samples, backend="c", c_folder=tmp_path / "own").equal
    text = (tmp_path / "own/net.c").read_text()
    at = text.index("{\n    ", text.index("conv2_w[")) + 6
    (tmp_path / "own/net.c").write_text(text[:at] + "0 * " + text[at:])
    assert not hs.verify(prepared, program, samples, backend="c", c_folder=tmp_path / "own", compiler="cc -O1").equal
    with raises("file_not_replaced"):
        hs.export(prepared, tmp_path / "own", format="c", name="net")


def bits_of(audit):
    return {row["tensor"]: row["bits"] for row in audit.quantizers}


def test_bit_widths_are_those_of_the_command_line(folder, network, samples, tmp_path):
    run("quantize", folder / "run/model.safetensors", "--calibrate", folder / "samples.npz", "--weight-bits", 4, "--activation-bits", 6,
        "--first-last-bits", 7, "--bits", "conv2=3/", "--keep-samples", 0, "--seed", 5, "--out", tmp_path / "prepared.safetensors")  # fmt: skip
    prepared = hs.quantize(network, data=samples, weight_bits=4, activation_bits=6, first_last_bits=7, bits={"conv2": (3, None)}, keep_samples=0, seed=5)
    same_file(prepared, tmp_path / "prepared.safetensors", tmp_path)
    assert [bits_of(prepared.report)[f"conv{i}.w"] for i in (1, 2, 3)] == [7, 3, 4]


@pytest.mark.parametrize("form", ("frozen", "live"))
def test_batch_norms_in_training_are_those_of_the_command_line(folder, network, samples, tmp_path, form):
    run("quantize", folder / "run/model.safetensors", "--calibrate", folder / "samples.npz", "--batch-norm", form,
        "--shared-weights", "duplicate", "--out", tmp_path / "prepared.safetensors")  # fmt: skip
    prepared = hs.quantize(network, data=samples, batch_norm=form, shared_weights="duplicate")
    same_file(prepared, tmp_path / "prepared.safetensors", tmp_path)
    before = prepared(samples[0][:9])
    hs.train(prepared, samples, epochs=1)
    program = hs.convert(prepared)
    assert program(samples[0][:9]).shape == before.shape and hs.verify(prepared, program, samples).equal
    with raises("not_a_choice", match="'foldet'.*'folded'"):
        hs.quantize(network, data=samples, batch_norm="foldet")
    with raises("not_a_choice", match="'both'.*tie, duplicate"):
        hs.quantize(network, data=samples, shared_weights="both")


def test_the_export_of_the_command_line(network, samples, tmp_path):
    program = hs.convert(hs.quantize(network, "onnxruntime_int8", data=samples))
    program.save(tmp_path / "integer.safetensors")
    run("export", tmp_path / "integer.safetensors", "--format", "qdq", "--out", tmp_path / "told.onnx")
    exported = hs.export(program, tmp_path / "own.onnx", format="qdq")
    assert (tmp_path / "own.onnx").read_bytes() == (tmp_path / "told.onnx").read_bytes()
    assert exported.nodes > 0 and str(tmp_path) in repr(exported)


def test_runs_like_the_command_line(program, samples, tmp_path):
    program.save(tmp_path / "integer.safetensors")
    np.savez(tmp_path / "x.npz", x=samples[0][:5])
    run("run", tmp_path / "integer.safetensors", "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / "y.npz")
    told = np.load(tmp_path / "y.npz")
    found = program(samples[0][:5])
    assert found.tobytes() == told[told.files[0]].tobytes()
    assert program(x=samples[0][:5]).tobytes() == found.tobytes()


def test_any_value_by_name(network, prepared, program, samples):
    x = samples[0][:3]
    codes = program.layers["conv4"](x)
    assert codes.dtype == np.uint8
    assert (prepared.layers["conv4"](x) == codes).all()
    assert network.layers["conv4"](x).dtype == np.float32
    assert list(program.layers)[0] == "x" and len(program.layers) == len(list(program.layers))
    with pytest.raises(KeyError, match="computes no value 'conv9'"):
        program.layers["conv9"]


def test_stays_what_it_was(network, prepared, samples):
    before = network.digest, prepared.digest
    other = prepared.copy()
    hs.train(other, samples, epochs=1)
    hs.change_bits(prepared, "conv2", weight_bits=4, activation_bits=8)
    assert (network.digest, prepared.digest) == before


def test_bits_and_overrides(network, samples):
    prepared = hs.quantize(network, "pow2_int8", data=samples, bits={"conv2": (4, 8)}, overrides={"activations.rate": 0.5})
    assert bits_of(prepared.report)["conv2.w"] == 4
    assert "rate: 0.5" in prepared.metadata["platform"]


def test_pickles_copies_compares_prints(program, prepared):
    assert pickle.loads(pickle.dumps(program)) == program == copy.deepcopy(program) == copy.copy(program)
    assert program != prepared and len({program, prepared}) == 2
    assert "integer_conv2d" in str(program) and repr(program).startswith("<halfstep.Model 'digits', integer: x f32[?, 1, 8, 8]")
    for shown in (program, prepared, program.report, prepared.report):
        assert shown._repr_html_().count("<table>") >= 1
    assert "<script>" not in hs.reports.table([{"a": "<script>"}], ["a"])


class Loader:
    def __init__(self, *batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)


def test_data_of_every_kind(network, prepared, samples, folder):
    x, labels = samples
    halves = [(x[:200], labels[:200]), (x[200:], labels[200:])]
    forms = [(x, labels), {"x": x, "labels": labels}, Loader(*halves), (half for half in halves), hs.datasets.load((x, labels)),
             folder / "samples.npz", str(folder / "samples.npz"), [{"x": x, "labels": labels}]]  # fmt: skip
    expected = hs.quantize(network, data=forms[0])
    for form in forms[1:]:
        assert hs.quantize(network, data=form).digest == expected.digest
    unlabelled = hs.quantize(network, data=x)
    assert unlabelled.stage == "prepared" and unlabelled.digest == hs.quantize(network, data=Loader(x[:100], x[100:])).digest
    assert len(hs.datasets.load((x, labels))) == 400 and hs.datasets.load((x, labels)).has_labels
    assert hs.evaluate(prepared, hs.datasets.load(samples, all=True)).samples == 400
    assert hs.evaluate(prepared, samples).samples == 80


def test_a_metric_of_ones_own(program, samples):
    x, labels = samples
    calls = []

    def right(outputs, expected):
        calls.append(len(outputs))
        return (outputs.argmax(1) == expected).mean()

    score = hs.evaluate_metric(program, [(x[:300], labels[:300]), (x[300:], labels[300:])], right)
    assert calls == [300, 100] and score.samples == 400
    assert float(score) == pytest.approx(hs.evaluate(program, hs.datasets.load(samples, all=True)))


def raising():
    yield np.zeros((4, 1, 8, 8), np.float32)
    raise RuntimeError("the disk is gone")


BAD_DATA = [
    ([], {"name": "no_batch"}),
    (Loader(np.zeros((4, 1, 8, 8), np.float32), np.zeros((4, 1, 8, 9), np.float32)), {"name": "batches_differ", "where": "batch 1: 'x'", "found": "f32[4, 1, 8, 9]"}),
    (Loader(np.zeros((4, 1, 8, 8), np.float32), np.zeros((4, 1, 8, 8), np.uint8)), {"name": "batches_differ", "where": "batch 1: 'x'", "found": "u8[4, 1, 8, 8]"}),
    (Loader({"x": np.zeros((4, 1, 8, 8), np.float32)}, {"y": np.zeros((4, 1), np.float32)}), {"name": "batches_differ", "where": "batch 1: 'y'"}),
    (np.full((4, 1, 8, 8), np.nan, np.float32), {}),
    (np.float32(3), {"name": "batches_differ", "found": "one value"}),
    (np.zeros((4, 3, 8, 8), np.float32), {"name": "samples_of_other_shape", "found": "[?, 3, 8, 8]"}),
    (np.zeros((0, 1, 8, 8), np.float32), {}),
    ((np.zeros((4, 1, 8, 8), np.float32), np.zeros(3, np.int32)), {}),
    ({"image": np.zeros((4, 1, 8, 8), np.float32)}, {"name": "input_missing"}),
]


@pytest.mark.parametrize(("data", "fields"), BAD_DATA)
def test_bad_data(network, data, fields):
    with pytest.raises(hs.Error) as raised:
        hs.quantize(network, data=data)
    assert {field: getattr(raised.value, field) for field in fields} == fields


def test_data_that_are_none_or_raise(network):
    with pytest.raises(TypeError, match="batch 0: found str"):
        hs.quantize(network, data=["a"])
    with pytest.raises(TypeError, match="data: found int"):
        hs.quantize(network, data=3)
    with pytest.raises(RuntimeError, match="the disk is gone"):
        hs.quantize(network, data=raising())


def test_wrong_order_of_verbs(network, prepared, program, samples, tmp_path):
    with raises("wrong_stage", where="network 'digits'", found="a float network", expected="a prepared one"):
        hs.convert(network)
    with raises("wrong_stage", found="a prepared network"):
        hs.quantize(prepared, data=samples)
    with raises("wrong_stage", found="a float network", expected="a prepared one"):
        hs.verify(network, program, samples)
    with raises("platform_unknown", match="'pow2_int8'"):
        hs.quantize(network, "pow2_int9", data=samples)
    with raises("cannot_be_read", match="nothing.onnx"):
        hs.load(tmp_path / "nothing.onnx")
    (tmp_path / "net.pt").write_bytes(b"PK\x03\x04" + bytes(26) + b"net/data.pkl")
    with raises("not_a_network_file", where=str(tmp_path / "net.pt"), found="a PyTorch file"):
        hs.load(tmp_path / "net.pt")
    with pytest.raises(TypeError, match="preprocess: found 'men'"):
        hs.quantize(network, data=samples, preprocess={"men": 3})
    with raises("not_a_choice", where="semantics", found="'some'"):
        hs.verify(prepared, program, samples, semantics="some")


def test_wrong_inputs(program, samples):
    x = samples[0][:2]
    with pytest.raises(TypeError, match="takes 1 inputs"):
        program(x, x)
    with pytest.raises(TypeError, match="input 'x' twice"):
        program(x, x=x)
    with raises("no_input_of_network", found="array 'y'"):
        program(x, y=x)
    with raises("input_missing"):
        program()
    with raises("no_array", found="None"):
        program(None)
    with raises("input_of_other_type", match=r"\[2, 1, 8, 9\]"):
        program(np.zeros((2, 1, 8, 9), np.float32))


def test_unsupported_is_its_own_error(network, samples):
    with raises("bits_not_legal", hs.UnsupportedError, match="node 'conv2'.*magik_t40.*3 bits"):
        hs.quantize(network, "magik_t40", data=samples, weight_bits=3)


def test_inspect_says_everything_with_remedies(network, samples):
    strict = {"channels.multiple": 48, "channels.above": 1}
    found = hs.inspect(network, "magik_t40", activation_bits=9, overrides=strict)
    assert not found and found.verdict.endswith("objections for magik_t40")
    assert {one["verb"] for one in found.objections} == {"quantize"}
    assert {"activations on magik_t40", "magik_t40 needs channels in multiples of 48 above 1"} == {one["problem"] for one in found.objections}
    assert all(one["remedy"] and one["layer"] for one in found.objections)
    asked = {"overrides": strict, "pad_channels": True, "in_float": "conv3"}
    assert [one["verb"] for one in hs.inspect(network, "magik_t40", **asked).objections] == ["convert"]
    assert hs.inspect(network, "magik_t40", **asked, float_fallback=True)
    prepared = hs.quantize(network, "magik_t40", data=samples, **asked)
    assert prepared.report.values["padded"] and [one["tensor"] for one in prepared.report.in_float][0] == "conv3"
    assert hs.verify(prepared, hs.convert(prepared, float_fallback=True), samples)
    with raises("selector_matches_nothing", match="'nothing'"):
        hs.quantize(network, data=samples, skip_layers=["nothing"])


def test_threads_run_one_model(program, samples):
    x, expected, found = samples[0][:16], None, []
    expected = program(x)

    def use():
        found.append(all((program(x) == expected).all() for _ in range(20)))

    threads = [threading.Thread(target=use) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == [True] * 4


def test_two_threads_do_not_train_one_model(prepared, samples):
    model, inside, go_on = prepared.copy(), threading.Event(), threading.Event()

    def wait(*_):
        inside.set()
        go_on.wait(60)

    first = threading.Thread(target=lambda: hs.train(model, samples, epochs=1, progress=wait))
    first.start()
    assert inside.wait(60)
    with raises("network_in_training"):
        hs.train(model, samples, epochs=1)
    go_on.set()
    first.join()
    assert hs.train(model, samples, epochs=1).values["epochs"] == 1


def test_what_progress_raises_ends_the_work_and_leaves_the_model(prepared, samples):
    model = prepared.copy()
    seen = []

    def stop(stage, done, total, note):
        seen.append((stage, done, total, note))
        if len(seen) == 3:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        hs.train(model, samples, epochs=50, progress=stop)
    assert len(seen) == 3 and model.digest == prepared.digest
    assert hs.train(model, samples, epochs=1)


def test_ctrl_c_stops(prepared, samples):
    model = prepared.copy()
    def press():
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # A background job ignores it.
    try:
        threading.Thread(target=press).start()
        with pytest.raises(KeyboardInterrupt):
            hs.train(model, samples, epochs=100000)
    finally:
        signal.signal(signal.SIGINT, before)
    assert model.digest == prepared.digest


def test_progress_in_a_terminal_has_the_time_left(capsys, network, samples):
    hs.quantize(network, data=samples, progress=True)
    assert "100 %" in capsys.readouterr().err


def test_repair(network, samples):
    """A calibrated network is corrected, and the report names the methods."""
    plain = hs.quantize(network, data=samples, weight_bits=3)
    corrected = hs.quantize(network, data=samples, weight_bits=3, repair=["batchnorm", "bias"])
    assert plain.report.repair is None
    steps = corrected.report.repair["steps"]
    assert [step["method"] for step in steps] == ["batchnorm", "bias"]
    assert any(step["outcome"] == "kept" for step in steps) and corrected != plain
    again = hs.quantize(plain, data=samples, repair="batchnorm")
    assert again.report.repair["steps"][0]["outcome"] == "kept"
    with raises("repair_method_unknown", match="magic.*equalize"):
        hs.quantize(network, data=samples, repair="magic")
