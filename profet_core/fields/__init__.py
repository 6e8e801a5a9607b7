"""Fields of questions: options and request fields."""
