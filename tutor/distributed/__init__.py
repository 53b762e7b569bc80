"""Ranks: several processes that train one model together.

    >>> from tutor import Tensor, dist
    >>> dist.rank(), dist.size()  # of a program that is started as usual
    (0, 1)
    >>> dist.all_reduce(Tensor([1.0, 2.0]), "mean")
    Tensor([1., 2.])

The same program on four ranks: `python -m tutor ranks 4 train.py`, or, with an MPI installed,
`mpiexec -n 4 python train.py`. Read ranks.py (this rank's number), collectives.py (communication),
sums.py (the order of additions), group.py (call order and failures), and one of the transports.
"""

from tutor.distributed.collectives import all_gather, all_reduce, barrier, broadcast, reduce_scatter
from tutor.distributed.group import Handle
from tutor.distributed.leaves import LEAVES
from tutor.distributed.parallel import DataParallel
from tutor.distributed.ranks import init, rank, size
from tutor.distributed.sharded import Sharded

__all__ = ["LEAVES", "DataParallel", "Handle", "Sharded", "all_gather", "all_reduce", "barrier",
           "broadcast", "init", "rank", "reduce_scatter", "size"]  # fmt: skip
