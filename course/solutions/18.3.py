micrograd = {
    "inputs": "micrograd/engine.py:10",
    "order": "micrograd/engine.py:59",
    "mul": "micrograd/engine.py:29",
    "walk": "micrograd/engine.py:70",
    "fit": None,
}
