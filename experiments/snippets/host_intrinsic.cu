// An intrinsic on the host.
float ask(float x) { return __expf(x); }
