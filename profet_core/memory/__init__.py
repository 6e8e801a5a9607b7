"""Does a training step fit in a GPU's memory?"""
