"""ONNX: models to and from other programs, as one file of nodes and weights (onnx.ai).

    tutor.onnx.export(model, example, "model.onnx")
    model = tutor.onnx.load("model.onnx")

Export traces a model op by op (trace.py), finds the sizes that depend on the batch (sizes.py), and
writes each op as ONNX operators (ops.py, graph.py, writing.py). Import computes each node with
Tensors (nodes.py, reading.py). Both need the package onnx: `pip install "tutorgrad[onnx]"`.
"""

from tutor.onnx.reading import OnnxModel, load
from tutor.onnx.writing import export

__all__ = ["OnnxModel", "export", "load"]
