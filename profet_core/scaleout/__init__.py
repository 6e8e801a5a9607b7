"""Training on several GPUs: a step on 1 to 64 of them, in one node and across nodes, and what that costs."""
