#!/bin/bash
# SASS statistics of variants: probe.sh NAME ...
cd "$(dirname "$0")"
for v in "$@"; do
  nice -n 10 nvcc -O3 -Xptxas -O1 -std=c++20 -arch=sm_90a -cubin -Xptxas -v $EXTRA -DV=$v probe.cu -o build/$v.cubin 2>&1 | grep -E "error|spill|Used" | sed 's/^ptxas info *: */  /;s/^/ /' | tr '\n' ';'
  cuobjdump -sass build/$v.cubin > build/$v.sass
  echo; echo "$v: $(python3 sass.py < build/$v.sass)"
done
