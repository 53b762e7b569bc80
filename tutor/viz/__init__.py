"""Pictures as SVG: memory, graphs, the walk backward, trainings, images.

    >>> from tutor import Tensor, viz
    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> both = viz.row(x.explain(), x.T.explain())
    >>> viz.bars({"naive": 0.4, "tiled": 9.5}, unit="GFLOP/s", title="matmul")
    <Picture 'matmul'>

Each function returns a `Picture`, which Jupyter shows by itself and `.save(path)` writes. They need
no other package, and no picture asks another file or host for anything. They know what a Tensor
looks like (`.buf .shape .strides .offset`, `.op`), not what it is: classes of your own will do.
docs/pictures.md has an example of each.
"""

from tutor.viz.charts import bars, curves, histogram
from tutor.viz.descent import plane
from tutor.viz.fields import boundary, heatmap, mesh
from tutor.viz.films import film
from tutor.viz.floats import bits_of as bits
from tutor.viz.graphs import graph
from tutor.viz.memory import explain, shared
from tutor.viz.pixels import images
from tutor.viz.products import product
from tutor.viz.programs import program
from tutor.viz.readings import read_bytes as bytes
from tutor.viz.scatters import scatter
from tutor.viz.stretches import broadcast
from tutor.viz.svg import Picture, column, row
from tutor.viz.walks import walk
from tutor.viz.ways import dispatch

__all__ = [
    "Picture", "bars", "bits", "boundary", "broadcast", "bytes", "column", "curves", "dispatch",
    "explain", "film", "graph", "heatmap", "histogram", "images", "mesh", "plane", "product",
    "program", "row", "scatter", "shared", "walk",
]  # fmt: skip
