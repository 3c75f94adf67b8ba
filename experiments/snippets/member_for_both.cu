// The class of the course, whose member is for both sides.
class Array {
 public:
  __device__ __host__ float& getElement(size_t i) { return data[i]; }

 private:
  float data[16];
};

float first(Array& array) { return array.getElement(0); }

__global__ void set(Array* array) { array->getElement(0) = 1; }
