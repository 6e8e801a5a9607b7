"""TensorFlow's and XProf's operation statistics, in each of their files."""
