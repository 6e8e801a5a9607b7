"""What is predicted from a visitor's profiles and settings."""
