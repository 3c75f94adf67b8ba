# rung with everything that it needs. The base decides what can be measured:
#   docker build -t rung .                                                                  the CPU side
#   docker build -t rung-cuda --build-arg BASE=nvidia/cuda:13.0.1-devel-ubuntu24.04 .       both sides
#   docker run --rm --cpuset-cpus 0-7 -v "$PWD/results:/rung/results" rung experiments/run.sh
#   docker run --rm --gpus all -v "$PWD/results:/rung/results" rung-cuda experiments/run.sh --full
# CPU kernels are compiled for the processor at hand, so the program is built when it is first run. For the processor's
# events and energy add --cap-add PERFMON and -v /sys/class/powercap:/sys/class/powercap:ro.
ARG BASE=debian:bookworm
FROM ${BASE}
ENV DEBIAN_FRONTEND=noninteractive PIP_NO_CACHE_DIR=1 LANG=C.UTF-8
WORKDIR /rung
COPY common/setup.sh common/
COPY report/requirements.txt report/
RUN bash -euc 'source common/setup.sh; install_packages; find_python; "$python" -c "import typst"; cmake --version; g++ --version' \
 && apt-get clean && rm -rf build *.log /var/lib/apt/lists/*
COPY . .
ENTRYPOINT ["bash"]
CMD ["experiments/run.sh"]
