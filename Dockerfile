# rung with everything that it needs. The base decides what can be measured:
#   docker build -t rung .                                                                  the CPU side
#   docker build -t rung-cuda --build-arg BASE=nvidia/cuda:13.0.1-devel-ubuntu24.04 .       both sides
#   docker run --rm --cpuset-cpus 0-7 -v "$PWD/results:/rung/results" rung experiments/run.sh
#   docker run --rm --gpus all -v "$PWD/results:/rung/results" rung-cuda experiments/run.sh --full
# CPU kernels are compiled for the processor at hand, so the program is built when it is first run. For the processor's
# events and energy add --cap-add PERFMON and -v /sys/class/powercap:/sys/class/powercap:ro.
ARG BASE=debian:bookworm
FROM ${BASE}
ENV DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8
COPY common/setup.sh report/requirements.txt /tmp/rung/
RUN mkdir -p /tmp/rung/common /tmp/rung/report \
 && mv /tmp/rung/setup.sh /tmp/rung/common/ && mv /tmp/rung/requirements.txt /tmp/rung/report/ \
 && bash -euc 'source /tmp/rung/common/setup.sh; install_packages; cmake --version; g++ --version' \
 && apt-get clean && rm -rf /var/lib/apt/lists/*
WORKDIR /rung
COPY . .
RUN python3 -m venv --system-site-packages .venv \
 && .venv/bin/pip install --no-cache-dir --quiet -r report/requirements.txt
ENTRYPOINT ["bash"]
CMD ["experiments/run.sh"]
