import random

random.seed(1)
trained = Reader(len(letters), CONTEXT)
losses = fit_text(trained)
