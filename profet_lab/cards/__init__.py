"""Write the cards that ship with the models, from reports of validation."""
