"""What a Tensor can do, by name: most are one line, `apply` with the op of that name.

The formulas and their derivatives are in tutor/ops/, the kernels in tutor/backends/. What has no op
of its own is composed here from those that have.
"""

from tutor.methods.comparisons import Comparisons
from tutor.methods.conversions import Conversions
from tutor.methods.elementwise import Elementwise
from tutor.methods.indexing import Indexing
from tutor.methods.inplace import InPlace
from tutor.methods.learning import Learning
from tutor.methods.reductions import Reductions
from tutor.methods.views import Views


class Methods(
    Views, Conversions, Elementwise, Comparisons, Reductions, Indexing, InPlace, Learning
):
    """The named methods of Tensor."""

    __slots__ = ()
