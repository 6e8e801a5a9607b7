"""The shipped table of kinds is what the rules and the installed frameworks give."""

from __future__ import annotations

import importlib.metadata
from importlib import resources

import pytest

from profet_core.features.operations import load_operation_kinds
from profet_lab.kinds.operation_kinds import (
    PYTORCH_VERSION,
    TENSORFLOW_VERSION,
    as_csv,
    more_rows,
    pytorch_rows,
    tensorflow_rows,
)
from profet_lab.kinds.pytorch import RULES as PYTORCH_RULES
from profet_lab.kinds.pytorch import pytorch_kind
from profet_lab.kinds.rules import first_kind, rules
from profet_lab.kinds.tensorflow import RULES as TENSORFLOW_RULES
from profet_lab.kinds.tensorflow import tensorflow_kind

SHIPPED = load_operation_kinds()


def test_every_shipped_kind_is_what_the_rules_say():
    for name, kind in SHIPPED.operations.items():
        assert (pytorch_kind if "::" in name else tensorflow_kind)(name) == kind, name
    assert more_rows().items() <= SHIPPED.operations.items()


def test_every_rule_is_of_a_kind_in_the_table():
    assert set(TENSORFLOW_RULES) | set(PYTORCH_RULES) <= set(SHIPPED.kinds)


def test_the_table_holds_the_operations_of_the_installed_tensorflow():
    version = importlib.metadata.version("tensorflow-cpu")
    if not version.startswith(f"{TENSORFLOW_VERSION}."):
        pytest.skip(f"TensorFlow {version} is installed, the table was made with {TENSORFLOW_VERSION}")
    found = tensorflow_rows()
    assert found.items() - SHIPPED.operations.items() == set()
    absent = {name for name in SHIPPED.operations if "::" not in name} - set(found) - set(more_rows())
    # What a build adds for its processor has a leading underscore: `_MklConv2D`.
    assert {name for name in absent if not name.startswith("_")} == set()


def test_the_table_holds_the_operations_of_the_installed_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, and the app does not need it")
    if not torch.__version__.startswith(f"{PYTORCH_VERSION}."):
        pytest.skip(f"PyTorch {torch.__version__} is installed, the table was made with {PYTORCH_VERSION}")
    found = pytorch_rows()
    assert found.items() - SHIPPED.operations.items() == set()
    absent = {name for name in SHIPPED.operations if name.startswith("aten::")} - set(found) - set(more_rows())
    assert absent == set()


def test_the_file_is_written_as_the_generator_writes_it():
    text = resources.files("profet_core.features").joinpath("operation_kinds.csv").read_text(encoding="utf-8")
    assert text == as_csv(dict(SHIPPED.operations))
    assert list(SHIPPED.operations) == sorted(SHIPPED.operations, key=lambda name: ("::" in name, name))


def test_the_first_rule_that_matches_wins():
    written = rules("""
gradient:
    .*Grad
    Back(prop|ward)
product:
    Mat(Mul|VecMul) .*Mul
""")
    names = ("ReluGrad", "Backprop", "MatMul", "MatMulGrad", "Mul", "Multiply", "Relu")
    expected = ["gradient", "gradient", "product", "gradient", "product", None, None]
    assert [first_kind(written, name) for name in names] == expected


@pytest.mark.parametrize(("kind_of", "name"), [(tensorflow_kind, "BrandNewOp"), (pytorch_kind, "aten::brand_new")])
def test_an_operation_that_no_rule_speaks_of_is_named(kind_of, name):
    with pytest.raises(LookupError, match=f"{name} does: add one to"):
        kind_of(name)


@pytest.mark.parametrize(
    "name", ["XlaLaunch", "QuantizedConv2D", "_MklQuantizedMatMulWithBias", "TPUCompilationResult"]
)
def test_what_no_training_step_shows_on_a_gpu_has_no_kind(name):
    assert tensorflow_kind(name) is None
    assert name not in SHIPPED.operations
