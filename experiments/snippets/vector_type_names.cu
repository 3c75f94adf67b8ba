// The names of the lecture's table.
__global__ void sizes(unsigned long* bytes) {
  *bytes = sizeof(char1) + sizeof(char2) + sizeof(char3) + sizeof(char4) + sizeof(uchar1) + sizeof(uchar2) +
           sizeof(uchar3) + sizeof(uchar4) + sizeof(short1) + sizeof(short2) + sizeof(short3) + sizeof(short4) +
           sizeof(ushort1) + sizeof(ushort2) + sizeof(ushort3) + sizeof(ushort4) + sizeof(int1) + sizeof(int2) +
           sizeof(int3) + sizeof(int4) + sizeof(uint1) + sizeof(uint2) + sizeof(uint3) + sizeof(uint4) + sizeof(long1) +
           sizeof(long2) + sizeof(long3) + sizeof(long4) + sizeof(ulong1) + sizeof(ulong2) + sizeof(ulong3) +
           sizeof(ulong4) + sizeof(longlong1) + sizeof(longlong2) + sizeof(longlong3) + sizeof(longlong4) +
           sizeof(ulonglong1) + sizeof(ulonglong2) + sizeof(ulonglong3) + sizeof(ulonglong4) + sizeof(float1) +
           sizeof(float2) + sizeof(float3) + sizeof(float4) + sizeof(double1) + sizeof(double2);
}
