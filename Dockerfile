# docker build -t tutor . && docker run tutor                trains MNIST, or digits that it draws
# docker build --target chapters -t tutor-chapters .         the chapters in Jupyter:
#     docker run -p 8888:8888 tutor-chapters                 open the address it prints
# docker build --target test -t tutor-test .                 the tree, with a compiler: all tests
#     docker run tutor-test
# What is run has the wheel and no compiler. Where no Docker is, .ci/dockerfile.py runs these lines.

FROM python:3.11-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN pip wheel --no-deps --wheel-dir /wheels .

FROM build AS test
RUN make setup-env
CMD ["make", "test"]

FROM python:3.11-slim-bookworm AS chapters
COPY --from=build /wheels /wheels
RUN set -- /wheels/*.whl && pip install --no-cache-dir "$1[chapters]"
RUN useradd --create-home learner
USER learner
WORKDIR /home/learner
RUN python -m tutor chapters start my-chapters
WORKDIR /home/learner/my-chapters
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser", "00_five_minutes.ipynb"]

FROM python:3.11-slim-bookworm AS train
COPY --from=build /wheels /wheels
RUN set -- /wheels/*.whl && pip install --no-cache-dir "$1[train]"
RUN useradd --create-home learner
USER learner
WORKDIR /home/learner
COPY train_mnist.py ./
RUN python -m tutor doctor
CMD ["python", "train_mnist.py"]
