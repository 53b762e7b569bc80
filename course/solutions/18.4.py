tinygrad = {
    "Buffer": "tinygrad/device.py:92",
    "ops": "tinygrad/ops.py:97",
    "slopes": "tinygrad/gradient.py:16",
    "walk": "tinygrad/gradient.py:55",
    "fit": "tinygrad/gradient.py:41",
}
