# Errors that teach: what was asked, what was found, what to do.
# Mend the last line.
from tutor import Tensor

pixels = Tensor.zeros(32, 784)
weights = Tensor.zeros(128, 784)
scores = pixels @ weights
