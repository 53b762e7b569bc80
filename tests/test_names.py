"""Names that the lessons behind this project spell: each resolves, where they say."""

import pytest

import tutor
from tutor import Tensor, amp, data, nn, ops, optim

ON_A_TENSOR = """
    buf shape strides offset requires_grad grad _ctx op device dtype numel stride
    is_contiguous contiguous view transpose T expand reshape permute pad shrink flip add sub
    mul div neg pow exp log sin relu cast sum max mean dot matmul conv2d where assign realize
    backward detach retain_grad register_hook numpy tolist item gather scatter scatter_add
    index_select take_along_axis masked_fill masked_select split chunk roll tile repeat
    scatter_reduce diag diag_embed diagflat unflatten rot90 std_mean var_mean aminmax amax amin
    nan_to_num nansum nanmean quantile median logcumsumexp bincount histc cov corrcoef inner vecdot
    cross kron cdist mm mv bmm addmm addmv baddbmm addcmul addcdiv
    repeat_interleave tril triu diagonal trace cumsum cumprod cummax sort argsort topk unique
    clip var std norm logsumexp argmin argmax any all softmax log_softmax cross_entropy
    sparse_categorical_crossentropy one_hot nonzero unfold movedim __array__
    to float double half bfloat16 long int bool t size dim ndimension cpu type_as clone mT
    expand_as view_as reshape_as is_floating_point isclose allclose eq ne lt le gt ge
    __array_namespace__ __dlpack__ __dlpack_device__ data zero_ copy_ fill_ add_ sub_ mul_ div_
    clamp_ requires_grad_
"""
TO_MAKE_ONE = """
    full ones zeros rand randn zeros_like ones_like glorot_uniform arange linspace eye
"""
ELSEWHERE = {
    tutor: """
        Tensor Buffer Op Engine engine backward no_grad apply use_backend where cat
        set_backend grad enable_grad set_grad_enabled is_grad_enabled inference_mode initial_seed
        concatenate stack einsum meshgrid arange linspace eye full zeros ones rand randn
        manual_seed promote Function from_dlpack bfloat16 float16 float32 float64 bool
        int8 int16 int32 int64 uint8 uint16 uint32 uint64 DTYPES registry testing
        sqrt exp sum max matmul softmax sort allclose isclose randint multinomial randperm
        bernoulli zeros_like ones_like save load
        bernoulli zeros_like ones_like vstack hstack dstack column_stack block_diag tensordot
        tril_indices triu_indices cartesian_prod searchsorted isin interp linalg
        tensor from_numpy float double half int long autograd onnx
    """,
    tutor.linalg: """
        cholesky cond cross det diagonal eigh eigvalsh inv lstsq matmul matrix_norm matrix_power
        matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals
        tensordot trace vecdot vector_norm
    """,
    ops: "Add MatMul ReLU Mul Softmax CrossEntropy",
    nn: """
        Linear Conv2d ReLU Sequential MaxPool2d Flatten Module get_parameters state_dict
        load_state_dict functional Summary
    """,
    nn.functional: """
        conv1d conv2d conv_transpose1d conv_transpose2d max_pool2d avg_pool2d
        adaptive_avg_pool2d linear mse_loss l1_loss huber_loss
        binary_cross_entropy_with_logits nll_loss cross_entropy gelu silu elu leaky_relu
        relu6 hardtanh softplus one_hot softmax grid_sample affine_grid
        relu6 hardtanh softplus one_hot softmax selu celu mish hardswish hardsigmoid softsign
        logsigmoid prelu glu threshold softmin softshrink hardshrink tanhshrink layer_norm rms_norm
        group_norm batch_norm dropout embedding scaled_dot_product_attention
    """,
    data: """
        load batches DataLoader Dataset TensorDataset Subset ConcatDataset IterableDataset GPT2BPE
        MappedDataset random_split collate BPE CharVocab ByteVocab TextBlocks text_batches csv
        standardize train_test_split moons circles spirals blobs sine line stories names Compose
        load_text grammar grammar_entropy grammar_nats
        Normalize RandomAffine RandomRotation RandomShift RandomCrop CenterCrop ElasticTransform
        RandomHorizontalFlip RandomVerticalFlip RandomErasing GaussianNoise ToFloat
    """,
    optim: """
        SGD Adam AdamW NAdam RAdam RMSprop Adagrad Adadelta Muon Lion LBFGS Optimizer lr_scheduler
    """,
    optim.lr_scheduler: """
        StepLR MultiStepLR ConstantLR LinearLR ExponentialLR PolynomialLR CosineAnnealingLR
        CosineAnnealingWarmRestarts LambdaLR OneCycleLR ReduceLROnPlateau ChainedScheduler
        SequentialLR LRScheduler
    """,
    amp: "autocast GradScaler",
}


@pytest.mark.parametrize("name", [*ON_A_TENSOR.split(), *TO_MAKE_ONE.split()])
def test_a_tensor_has_it(name):
    assert hasattr(Tensor([[1.0, 2.0]]), name)


@pytest.mark.parametrize(
    ("place", "name"),
    [(place, name) for place, names in ELSEWHERE.items() for name in names.split()],
)
def test_it_is_there(place, name):
    assert hasattr(place, name)


def test_both_spellings_of_a_shape():
    for make in (Tensor.zeros, Tensor.ones, Tensor.rand, Tensor.randn):
        assert make(2, 3).shape == make((2, 3)).shape == make([2, 3]).shape == (2, 3)
    x = Tensor.arange(6)
    assert x.reshape(2, 3).shape == x.reshape((2, 3)).shape
    assert x.reshape(2, 3).permute(1, 0).shape == x.reshape(2, 3).permute((1, 0)).shape == (3, 2)
    assert Tensor.zeros(2, 3, 4).stride() == (12, 4, 1)
    assert Tensor.zeros(2, 3, 4).stride(1) == 4


def test_dtype_is_a_keyword_everywhere():
    for make in (Tensor, Tensor.full, Tensor.zeros, Tensor.arange, Tensor.linspace, tutor.Buffer):
        with pytest.raises((TypeError, ValueError)):
            make(2, 3, 4, 5, 6, "float32")
