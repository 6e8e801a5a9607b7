"""What training fitted, as arrays, and how numpy runs it: dense layers and trees."""
