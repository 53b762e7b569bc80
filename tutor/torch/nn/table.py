"""PyTorch's signatures of layers and of nn.functional, for those that tutor has as they are.

Several names before a signature share it.
"""

from __future__ import annotations

LOSS = "size_average=None, reduce=None, reduction='mean'"
SIZED = "device=None, dtype=None"
LAYERS = f"""
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d(output_size)
AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d(output_size, return_indices=False)
AvgPool1d(kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True)
AvgPool2d AvgPool3d(kernel_size, stride=None, padding=0, ceil_mode=False, \
count_include_pad=True, divisor_override=None)
BCELoss(weight=None, {LOSS})
BCEWithLogitsLoss(weight=None, {LOSS}, pos_weight=None)
BatchNorm1d BatchNorm2d BatchNorm3d(num_features, eps=1e-05, momentum=0.1, affine=True, \
track_running_stats=True, {SIZED})
Bilinear(in1_features, in2_features, out_features, bias=True, {SIZED})
CELU ELU(alpha=1.0, inplace=False)
Conv1d Conv2d Conv3d(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, \
groups=1, bias=True, padding_mode='zeros', {SIZED})
ConvTranspose1d ConvTranspose2d ConvTranspose3d(in_channels, out_channels, kernel_size, \
stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, padding_mode='zeros', \
{SIZED})
CosineEmbeddingLoss MarginRankingLoss(margin=0.0, {LOSS})
CosineSimilarity(dim=1, eps=1e-08)
CrossEntropyLoss(weight=None, size_average=None, ignore_index=-100, reduce=None, \
reduction='mean', label_smoothing=0.0)
Dropout Dropout1d Dropout2d(p=0.5, inplace=False)
Embedding(num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, \
scale_grad_by_freq=False, sparse=False, _weight=None, _freeze=False, {SIZED})
Flatten(start_dim=1, end_dim=-1)
GELU(approximate='none')
GLU(dim=-1)
GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, \
bidirectional=False, {SIZED})
GRUCell LSTMCell(input_size, hidden_size, bias=True, {SIZED})
GaussianNLLLoss(*, full=False, eps=1e-06, reduction='mean')
GroupNorm(num_groups, num_channels, eps=1e-05, affine=True, {SIZED})
Hardshrink Softshrink(lambd=0.5)
Hardsigmoid Hardswish Mish ReLU ReLU6 SELU SiLU(inplace=False)
Hardtanh(min_val=-1.0, max_val=1.0, inplace=False)
HingeEmbeddingLoss(margin=1.0, {LOSS})
HuberLoss(reduction='mean', delta=1.0)
InstanceNorm1d InstanceNorm2d(num_features, eps=1e-05, momentum=0.1, affine=False, \
track_running_stats=False, {SIZED})
KLDivLoss({LOSS}, log_target=False)
L1Loss MSELoss SoftMarginLoss({LOSS})
LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, \
bidirectional=False, proj_size=0, {SIZED})
LayerNorm(normalized_shape, eps=1e-05, elementwise_affine=True, bias=True, {SIZED})
LeakyReLU(negative_slope=0.01, inplace=False)
Linear(in_features, out_features, bias=True, {SIZED})
LogSigmoid Sigmoid Softsign Tanh Tanhshrink()
LogSoftmax Softmax Softmin(dim)
MaxPool1d MaxPool2d MaxPool3d(kernel_size, stride=None, padding=0, dilation=1, \
return_indices=False, ceil_mode=False)
MaxUnpool1d MaxUnpool2d MaxUnpool3d(kernel_size, stride=None, padding=0)
MultiheadAttention(embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, \
add_zero_attn=False, kdim=None, vdim=None, batch_first=False, {SIZED})
NLLLoss(weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean')
PReLU(num_parameters=1, init=0.25, {SIZED})
PairwiseDistance(p=2.0, eps=1e-06, keepdim=False)
PixelShuffle(upscale_factor)
PixelUnshuffle(downscale_factor)
PoissonNLLLoss(log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, \
reduction='mean')
RMSNorm(normalized_shape, eps=None, elementwise_affine=True, {SIZED})
RNN(input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False, \
dropout=0.0, bidirectional=False, {SIZED})
RNNCell(input_size, hidden_size, bias=True, nonlinearity='tanh', {SIZED})
SmoothL1Loss({LOSS}, beta=1.0)
Softplus(beta=1.0, threshold=20.0)
Threshold(threshold, value, inplace=False)
Transformer(d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, \
dim_feedforward=2048, dropout=0.1, activation='relu', custom_encoder=None, custom_decoder=None, \
layer_norm_eps=1e-05, batch_first=False, norm_first=False, bias=True, {SIZED})
TransformerDecoder(decoder_layer, num_layers, norm=None)
TransformerDecoderLayer TransformerEncoderLayer(d_model, nhead, dim_feedforward=2048, \
dropout=0.1, activation='relu', layer_norm_eps=1e-05, batch_first=False, norm_first=False, \
bias=True, {SIZED})
TransformerEncoder(encoder_layer, num_layers, norm=None, enable_nested_tensor=True, \
mask_check=True)
TripletMarginLoss(margin=1.0, p=2.0, eps=1e-06, swap=False, {LOSS})
Unflatten(dim, unflattened_size)
Upsample(size=None, scale_factor=None, mode='nearest', align_corners=None, \
recompute_scale_factor=None)
"""
POOL = "kernel_size, stride=None, padding=0"
CONV = "input, weight, bias=None, stride=1, padding=0"
FUNCTIONS = f"""
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d(input, output_size)
adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d(input, output_size, \
return_indices=False)
affine_grid(theta, size, align_corners=None)
avg_pool1d(input, {POOL}, ceil_mode=False, count_include_pad=True)
avg_pool2d avg_pool3d(input, {POOL}, ceil_mode=False, count_include_pad=True, \
divisor_override=None)
batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, \
momentum=0.1, eps=1e-05)
bilinear(input1, input2, weight, bias=None)
binary_cross_entropy(input, target, weight=None, {LOSS})
binary_cross_entropy_with_logits(input, target, weight=None, {LOSS}, pos_weight=None)
celu elu(input, alpha=1.0, inplace=False)
conv1d conv2d conv3d({CONV}, dilation=1, groups=1)
conv_transpose1d conv_transpose2d conv_transpose3d({CONV}, output_padding=0, groups=1, dilation=1)
cosine_embedding_loss margin_ranking_loss(input1, input2, target, margin=0, {LOSS})
cosine_similarity(x1, x2, dim=1, eps=1e-08)
cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, \
reduction='mean', label_smoothing=0.0)
dropout dropout1d dropout2d(input, p=0.5, training=True, inplace=False)
embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, \
scale_grad_by_freq=False, sparse=False)
gaussian_nll_loss(input, target, var, full=False, eps=1e-06, reduction='mean')
gelu(input, approximate='none')
glu(input, dim=-1)
grid_sample(input, grid, mode='bilinear', padding_mode='zeros', align_corners=None)
group_norm(input, num_groups, weight=None, bias=None, eps=1e-05)
hardshrink softshrink(input, lambd=0.5)
hardsigmoid hardswish mish relu relu6 selu silu(input, inplace=False)
hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False)
hinge_embedding_loss(input, target, margin=1.0, {LOSS})
huber_loss(input, target, reduction='mean', delta=1.0, weight=None)
instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, \
use_input_stats=True, momentum=0.1, eps=1e-05)
interpolate(input, size=None, scale_factor=None, mode='nearest', align_corners=None, \
recompute_scale_factor=None, antialias=False)
kl_div(input, target, {LOSS}, log_target=False)
l1_loss mse_loss(input, target, {LOSS}, weight=None)
layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05)
leaky_relu(input, negative_slope=0.01, inplace=False)
linear(input, weight, bias=None)
logsigmoid sigmoid softsign tanh tanhshrink(input)
max_pool1d max_pool2d max_pool3d(input, {POOL}, dilation=1, ceil_mode=False, return_indices=False)
max_unpool1d max_unpool2d max_unpool3d(input, indices, {POOL}, output_size=None)
nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, \
reduction='mean')
normalize(input, p=2.0, dim=1, eps=1e-12, out=None)
pad(input, pad, mode='constant', value=None)
pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim=False)
pixel_shuffle(input, upscale_factor)
pixel_unshuffle(input, downscale_factor)
poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-08, \
reduce=None, reduction='mean')
prelu(input, weight)
rms_norm(input, normalized_shape, weight=None, eps=None)
scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, \
scale=None, enable_gqa=False)
smooth_l1_loss(input, target, {LOSS}, beta=1.0)
soft_margin_loss(input, target, {LOSS})
softplus(input, beta=1.0, threshold=20.0)
threshold(input, threshold, value, inplace=False)
triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-06, swap=False, {LOSS})
"""
