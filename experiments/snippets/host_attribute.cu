// A function of the host with the attribute and one without it: the host calls both.
__host__ int with() { return 1; }
int without() { return 2; }

int ask() { return with() + without(); }
