// A class whose member is for the device alone, and is called by the host.
class Array {
 public:
  __device__ float& getElement(size_t i) { return data[i]; }

 private:
  float data[16];
};

float first(Array& array) { return array.getElement(0); }
