"""Fit and judge the speed-up of AMP and TF32 on published pairs."""
