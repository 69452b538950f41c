"""Weights in ONNX files, under the names that they have in PyTorch.

An export keeps the names of parameters, but for the matrices of linear layers: these are transposed
and numbered ("onnx::MatMul_856"). The node that multiplies by such a matrix still carries the
module's name in its path ("/encoder/layer.0/attention/self/query/MatMul"). A quantised weight is
whole numbers with a scale and a zero point: w = scale · (q − zero point).
"""

from importlib import import_module
from pathlib import Path
from typing import Any

_QUANTISED = "_quantized"
_DEQUANTISED = "_DequantizeLinear_Output"


def onnx_weights(path: Path) -> dict[str, Any]:
    """Name → tensor, for all parameters of the file."""
    import torch

    onnx: Any = import_module("onnx")  # by name: `make check` has it not, `make test-real` does
    graph = onnx.load(path).graph
    arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    modules = _modules(graph)
    weights: dict[str, Any] = {}
    for name, array in arrays.items():
        stem = name.removesuffix(_QUANTISED)
        if stem != name:
            zero = arrays[f"{stem}_zero_point"].astype("float32")
            array = arrays[f"{stem}_scale"] * (array.astype("float32") - zero)  # noqa: PLW2901
        elif name.endswith(("_scale", "_zero_point")):
            continue
        if stem in modules:
            weights[f"{modules[stem]}.weight"] = torch.tensor(array.T)
        elif not stem.startswith("onnx::"):
            weights[stem] = torch.tensor(array)
        else:
            raise KeyError(f"{path.name}: no linear layer multiplies by {stem}")
    return weights


def _modules(graph: Any) -> dict[str, str]:
    """Matrix → the linear layer that multiplies by it."""
    found: dict[str, str] = {}
    for node in graph.node:
        if node.op_type in {"MatMul", "MatMulInteger"} and node.input[1].startswith("onnx::"):
            matrix = node.input[1].removesuffix(_DEQUANTISED).removesuffix(_QUANTISED)
            found[matrix] = node.name.strip("/").rpartition("/")[0].replace("/", ".")
    return found
