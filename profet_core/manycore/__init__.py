"""How long a CNN trains on a many-core CPU, over threads: the two models after Viebke et al. 2019 (Xeon Phi)."""
