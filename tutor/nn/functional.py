"""The functions behind the layers, with PyTorch's names and parameters.

A family's functions and layers are in one file; those of activations are in tutor.functions.
"""

# ruff: noqa: I001 - several names a line
from tutor.interop import missing_names
from tutor.functions import (
    celu, elu, gelu, glu, hardshrink, hardsigmoid, hardswish, hardtanh, leaky_relu, log_softmax,
    logsigmoid, mish, one_hot, prelu, relu, relu6, selu, sigmoid, silu, softmax, softmin, softplus,
    softshrink, softsign, tanh, tanhshrink, threshold,
)  # fmt: skip
from tutor.nn.attention import scaled_dot_product_attention
from tutor.nn.batch_norm import batch_norm, instance_norm
from tutor.nn.class_losses import (
    binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy, kl_div, nll_loss,
)  # fmt: skip
from tutor.nn.conv import (
    conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d,
)  # fmt: skip
from tutor.nn.dense import bilinear, linear
from tutor.nn.distances import (
    cosine_embedding_loss, cosine_similarity, hinge_embedding_loss, margin_ranking_loss, normalize,
    pairwise_distance, triplet_margin_loss,
)  # fmt: skip
from tutor.nn.dropout import dropout, dropout1d, dropout2d
from tutor.nn.embedding import embedding
from tutor.nn.grids import affine_grid, grid_sample
from tutor.nn.losses import (
    gaussian_nll_loss, huber_loss, l1_loss, mse_loss, poisson_nll_loss, smooth_l1_loss,
    soft_margin_loss,
)  # fmt: skip
from tutor.nn.max_pool import (
    adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d, max_pool1d, max_pool2d,
    max_pool3d, max_unpool1d, max_unpool2d, max_unpool3d,
)  # fmt: skip
from tutor.nn.norm import group_norm, layer_norm, rms_norm
from tutor.nn.padding import pad
from tutor.nn.pool import (
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, avg_pool1d, avg_pool2d,
    avg_pool3d,
)  # fmt: skip
from tutor.nn.resampling import interpolate, pixel_shuffle, pixel_unshuffle

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "affine_grid", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "batch_norm", "bilinear", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss", "cosine_similarity",
    "cross_entropy", "dropout", "dropout1d", "dropout2d", "elu", "embedding", "gaussian_nll_loss",
    "gelu", "glu", "grid_sample", "group_norm", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate", "kl_div",
    "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid",
    "margin_ranking_loss", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d",
    "max_unpool3d", "mish", "mse_loss", "nll_loss", "normalize", "one_hot", "pad",
    "pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu",
    "relu6", "rms_norm", "scaled_dot_product_attention", "selu", "sigmoid", "silu",
    "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink",
    "softsign", "tanh", "tanhshrink", "threshold", "triplet_margin_loss",
]  # fmt: skip
missing_names.watch(__name__)
