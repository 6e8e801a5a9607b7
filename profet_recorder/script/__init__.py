"""Recording a training script as it is, from outside."""
