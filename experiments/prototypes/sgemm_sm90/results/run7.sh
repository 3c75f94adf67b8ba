cd .deps/sgemm
nvcc -O3 -Xptxas -O1 -std=c++20 -arch=sm_90a bench.cu -o bench -lcublas -lcublasLt; nvcc -O3 -arch=sm_90a lds.cu -o lds  # about 50 s on one core
timeout 40 ./bench rounds=7 sizes=256x256x256,512x512x512,1024x1024x1024,1000x1000x1000,256x256x16384,2048x2048x2048 K T64 2>&1
timeout 45 ./bench rounds=9 sizes=2048x2048x2048,4096x4096x4096,8192x8192x8192,4095x4095x4095,4096x4096x256 S32 R32 2>&1
timeout 45 ./bench rounds=3 sizes=16384x16384x16384 S32U8X 2>&1
timeout 30 ncu --clock-control none --csv --metrics l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,smsp__inst_executed_op_shared_ld.sum,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum ./lds > $OUT/lds.csv 2>&1
for v in S32U8XV; do
  timeout 40 ncu --clock-control none -k regex:gemm -s 1 -c 1 --section WarpStateStats --section SourceCounters --metrics smsp__issue_active.avg.pct_of_peak_sustained_active,l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed -f -o $OUT/$v ./bench one=$v sizes=4096x4096x4096 rounds=2 > $OUT/$v.log 2>&1
  ncu -i $OUT/$v.ncu-rep --page source --csv > $OUT/$v.csv 2>&1
  rm -f $OUT/$v.ncu-rep
done
