"""Read PROFET's pickles in a separate process, without running their code."""
