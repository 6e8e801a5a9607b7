"""What is in one profile, what holds its step up, and how the models see each operation."""
