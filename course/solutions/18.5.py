pytorch = {
    "Buffer": "c10/core/StorageImpl.h:56",
    "Tensor": "c10/core/TensorImpl.h:511",
    "Op": "torch/csrc/autograd/node.h:113",
    "Registry": "aten/src/ATen/core/dispatch/Dispatcher.h:72",
    "Engine": "torch/csrc/autograd/engine.h:131",
    "fit": "torch/csrc/autograd/input_metadata.h:76",
}
