"""Training time on many-core CPUs (Viebke et al. 2019, Xeon Phi)."""
