# docker build -t tutor . && docker run tutor                          runs the tests
# docker run tutor make mnist                                          trains MNIST
FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends g++ make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /tutor
COPY . .
RUN make setup-env
CMD ["make", "test"]
