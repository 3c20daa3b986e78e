"""Inspection of any stage, and of what other verbs refuse."""


def test_open_height_and_width_of_a_model(bench, shared):
    case = shared / "reports" / "inspect_open_extents"
    deployed = bench.deploy(case / "c48_fcn.onnx", case / "c48_fcn.npz")
    for model in (deployed.prepared, deployed.integer):
        ended = bench.run("inspect", model, "--batch", 2)
        assert "f32[2, 3, 64, 64]" in ended.out
