"""Speed-up of AMP and TF32."""
