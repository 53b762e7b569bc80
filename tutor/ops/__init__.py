"""The catalogue of ops, one file per family. Importing a family fills `tutor.core.op.OPS`."""

from tutor.ops.elementwise import (
    Abs,
    Add,
    Cast,
    Copy,
    Cos,
    Div,
    Eq,
    Exp,
    Ge,
    Gt,
    Le,
    Log,
    Lt,
    Maximum,
    Minimum,
    Mul,
    Ne,
    Neg,
    Pow,
    ReLU,
    Sigmoid,
    Sin,
    Sqrt,
    Sub,
    Tanh,
    Where,
)
from tutor.ops.fused import CrossEntropy, CrossEntropyGrad, LogSoftmax, Softmax
from tutor.ops.indexing import Gather, IndexSelect, ScatterAdd
from tutor.ops.matmul import MatMul
from tutor.ops.movement import Cat, Expand, Index, Pad, Permute, Place, Reshape
from tutor.ops.reduce import ArgMax, Max, Mean, Min, Sum

__all__ = [
    "Abs", "Add", "ArgMax", "Cast", "Cat", "Copy", "Cos", "CrossEntropy", "CrossEntropyGrad",
    "Div", "Eq", "Exp", "Expand", "Gather", "Ge", "Gt", "Index", "IndexSelect", "Le", "Log",
    "LogSoftmax", "Lt", "MatMul", "Max", "Maximum", "Mean", "Min", "Minimum", "Mul", "Ne", "Neg",
    "Pad", "Permute", "Place", "Pow", "ReLU", "Reshape", "ScatterAdd", "Sigmoid", "Sin", "Softmax",
    "Sqrt", "Sub", "Sum", "Tanh", "Where",
]  # fmt: skip
