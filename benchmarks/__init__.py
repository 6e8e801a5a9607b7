"""Speed, memory and size of what is shipped: `make bench`."""
