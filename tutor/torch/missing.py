"""Names of PyTorch's that the wing does not have, and what to write instead."""

from __future__ import annotations

COMPLEX = "tutor has no complex numbers: keep the real and the imaginary part as two tensors"
SPARSE = "tutor has no sparse tensors: use dense ones, or gather and index_add"
QUANTIZED = "tutor has no quantized tensors: compute in float32 or bfloat16"
RESHAPED = "write x = x.{} : tensors keep their shape here"

INSTEAD = {
    "abs_": "x.copy_(x.abs())", "apply_": "x.copy_(torch.tensor([f(v) for v in x.tolist()]))",
    "as_strided": "x.unfold(dim, size, step), x.diagonal() or x.expand(...)",
    "cdouble": COMPLEX, "cfloat": COMPLEX, "complex": COMPLEX, "complex64": COMPLEX,
    "complex128": COMPLEX, "view_as_real": COMPLEX, "view_as_complex": COMPLEX, "imag": COMPLEX,
    "angle": COMPLEX, "polar": COMPLEX, "fft": COMPLEX, "stft": COMPLEX,
    "istft": COMPLEX, "sparse": SPARSE, "to_sparse": SPARSE, "sparse_coo_tensor": SPARSE,
    "sparse_csr_tensor": SPARSE, "coalesce": SPARSE, "quantization": QUANTIZED,
    "quantize_per_tensor": QUANTIZED, "ao": QUANTIZED, "jit": "torch.compile(f)",
    "onnx": "tutor.onnx.export", "distributed": "tutor.distributed", "multiprocessing":
    "tutor.distributed: ranks are processes", "hub": "torch.load of a file that you downloaded",
    "erfc": "1 - torch.erf(x), where an error of 1e-7 does not matter",
    "erfinv": "torch.distributions.Normal(0, 1).icdf is not here either: use scipy.special.erfinv",
    "lgamma": "scipy.special.gammaln(x.numpy())", "digamma": "scipy.special.digamma(x.numpy())",
    "polygamma": "scipy.special.polygamma", "i0": "scipy.special.i0", "special": "scipy.special",
    "nextafter": "numpy.nextafter(x.numpy(), y.numpy())",
    "frexp": "numpy.frexp(x.numpy())", "gcd": "numpy.gcd(x.numpy(), y.numpy())",
    "lcm": "numpy.lcm(x.numpy(), y.numpy())", "histogram": "numpy.histogram(x.numpy(), bins)",
    "nanmedian": "x[~x.isnan()].median()", "nanquantile": "x[~x.isnan()].quantile(q)",
    "vander": "x[:, None] ** torch.arange(n)",
    "renorm": "w * (limit / w.norm()).clamp(max=1)",
    "squeeze_": RESHAPED.format("squeeze()"), "unsqueeze_": RESHAPED.format("unsqueeze(dim)"),
    "t_": RESHAPED.format("t()"), "transpose_": RESHAPED.format("transpose(a, b)"),
    "resize_": RESHAPED.format("new_zeros(size)"), "set_": "x.data = y",
    "swapaxes_": RESHAPED.format("swapaxes(a, b)"), "storage": "x.numpy(), the same memory",
    "untyped_storage": "x.numpy(), the same memory", "map_": "x.copy_(...)",
    "lu": "torch.linalg.qr or torch.linalg.solve", "lobpcg": "torch.linalg.eigh",
    "cholesky_solve": "torch.linalg.solve(a, b)", "cholesky_inverse": "torch.linalg.inv(a)",
    "matrix_exp": "scipy.linalg.expm(x.numpy())", "put_": "x.view(-1)[index] = source",
    "index_reduce_": "x.scatter_reduce(dim, index, source, reduce)",
    "set_default_tensor_type": "torch.float32 is the default; name dtype= where tensors are made",
    "poisson": "numpy.random.poisson(rates)", "binomial": "(torch.rand(n, ...) < p).sum(0)",
    "set_printoptions": "print(x.numpy()), with numpy.set_printoptions",
    "grid_sampler": "torch.nn.functional.grid_sample", "choose_qparams": QUANTIZED,
    "AdaptiveLogSoftmaxWithLoss": "nn.CrossEntropyLoss over all classes",
    "LazyLinear": "nn.Linear(in_features, out_features)",
    "DataParallel": "tutor.distributed.DataParallel",
    "SyncBatchNorm": "nn.BatchNorm2d on each rank",
}  # fmt: skip
