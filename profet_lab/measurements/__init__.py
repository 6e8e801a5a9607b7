"""Read measurements: PROFET's, published timings, third-party profiles."""
