"""What ships beside the code: models and sample traces."""
