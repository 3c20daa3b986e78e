"""The workbench of these tests, on the network of the repository."""


def test_a_verb_ends_with_the_code_that_is_asked_for(bench):
    assert bench.run("platform", "list").code == 0
    assert bench.run("inspect", "nothing.onnx", code=2).err
