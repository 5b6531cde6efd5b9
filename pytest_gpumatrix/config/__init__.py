"""gpumatrix.yml: devices, expectations, what fails a run."""
