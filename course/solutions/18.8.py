from tutor import no_grad
from tutor.ops.elementwise import Unary


class Logsig(Unary):
    """z = ln(1 / (1 + e**-x)), computed as min(x, 0) - ln(1 + e**-|x|), which does not overflow"""

    saves, wants_float = ("x",), True

    @no_grad()
    def forward(self, x):
        return -(-x).relu() - (-x.abs()).exp().log1p()

    def backward(self, g, x):
        return g * (-x).sigmoid()
