"""IR of the thread level as HIP C++, op by op; what CUDA writes alike is in `targets.cxx`."""
