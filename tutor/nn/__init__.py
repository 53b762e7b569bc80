"""Neural networks: layers, and the walk that finds a model's parameters."""

# ruff: noqa: I001 - several names a line
from tutor.interop import missing_names
from tutor.nn import functional, init, utils
from tutor.nn.activation import (
    CELU, ELU, GELU, GLU, SELU, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU, LogSigmoid,
    LogSoftmax, Mish, PReLU, ReLU, ReLU6, SiLU, Sigmoid, Softmax, Softmin, Softplus, Softshrink,
    Softsign, Tanh, Tanhshrink, Threshold,
)  # fmt: skip
from tutor.nn.attention import MultiHeadAttention, MultiheadAttention
from tutor.nn.batch_norm import (
    BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d,
)  # fmt: skip
from tutor.nn.cache import KVCache
from tutor.nn.cells import GRUCell, LSTMCell, RNNCell
from tutor.nn.class_losses import BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, KLDivLoss, NLLLoss
from tutor.nn.containers import (
    Flatten, Identity, ModuleDict, ModuleList, ParameterList, Sequential, Unflatten,
)  # fmt: skip
from tutor.nn.conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from tutor.nn.dense import Bilinear, Linear
from tutor.nn.distances import (
    CosineEmbeddingLoss, CosineSimilarity, HingeEmbeddingLoss, MarginRankingLoss, PairwiseDistance,
    TripletMarginLoss,
)  # fmt: skip
from tutor.nn.dropout import Dropout, Dropout1d, Dropout2d
from tutor.nn.embedding import Embedding
from tutor.nn.losses import (
    GaussianNLLLoss, HuberLoss, L1Loss, MSELoss, PoissonNLLLoss, SmoothL1Loss, SoftMarginLoss,
)  # fmt: skip
from tutor.nn.max_pool import (
    AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d, MaxPool1d, MaxPool2d, MaxPool3d,
    MaxUnpool1d, MaxUnpool2d, MaxUnpool3d,
)  # fmt: skip
from tutor.nn.module import Module, get_parameters, load_state_dict, state_dict, train
from tutor.nn.norm import GroupNorm, LayerNorm, RMSNorm
from tutor.nn.parameter import Parameter
from tutor.nn.parts import named_modules, named_tensors
from tutor.nn.pool import (
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AvgPool1d, AvgPool2d, AvgPool3d,
)  # fmt: skip
from tutor.nn.recurrent import GRU, LSTM, RNN
from tutor.nn.resampling import PixelShuffle, PixelUnshuffle, Upsample
from tutor.nn.summary import Summary
from tutor.nn.transformer import (
    Transformer, TransformerBlock, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder,
    TransformerEncoderLayer,
)  # fmt: skip

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "GRU", "LSTM", "RNN", "SELU", "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BCELoss", "BCEWithLogitsLoss",
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear", "Conv1d", "Conv2d", "Conv3d",
    "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "CosineEmbeddingLoss",
    "CosineSimilarity", "CrossEntropyLoss", "Dropout", "Dropout1d", "Dropout2d", "Embedding",
    "Flatten", "GRUCell", "GaussianNLLLoss", "GroupNorm", "Hardshrink", "Hardsigmoid", "Hardswish",
    "Hardtanh", "HingeEmbeddingLoss", "HuberLoss", "Identity", "InstanceNorm1d", "InstanceNorm2d",
    "KLDivLoss", "KVCache", "L1Loss", "LSTMCell", "LayerNorm", "LeakyReLU", "Linear", "LogSigmoid",
    "LogSoftmax", "MSELoss", "MarginRankingLoss", "MaxPool1d", "MaxPool2d", "MaxPool3d",
    "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "Mish", "Module", "ModuleDict", "ModuleList",
    "MultiHeadAttention", "MultiheadAttention", "NLLLoss", "PReLU", "PairwiseDistance", "Parameter",
    "ParameterList", "PixelShuffle", "PixelUnshuffle", "PoissonNLLLoss", "RMSNorm", "RNNCell",
    "ReLU", "ReLU6", "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss", "SoftMarginLoss", "Softmax",
    "Softmin", "Softplus", "Softshrink", "Softsign", "Summary", "Tanh", "Tanhshrink", "Threshold",
    "Transformer", "TransformerBlock", "TransformerDecoder", "TransformerDecoderLayer",
    "TransformerEncoder", "TransformerEncoderLayer", "TripletMarginLoss", "Unflatten", "Upsample",
    "functional", "get_parameters", "init", "load_state_dict", "named_modules", "named_tensors",
    "state_dict", "train", "utils",
]  # fmt: skip
missing_names.watch(__name__)
missing_names.explain(Module)
