"""Pictures as SVG: memory, graphs, the backward walk, trainings, images.

    >>> from tutor import Tensor, viz
    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> both = viz.row(x.explain(), x.T.explain())
    >>> viz.bars({"naive": 0.4, "tiled": 9.5}, unit="GFLOP/s", title="matmul")
    <Picture 'matmul'>

Each function returns a `Picture`, which Jupyter displays and `.save(path)` writes. They need no
other package, and no picture loads another file or contacts a host. They use a Tensor's attributes
(`.buf .shape .strides .offset`, `.op`), not its class: classes of your own will do.
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
