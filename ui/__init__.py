"""What the app's pages share: state, links, inputs, charts and tables."""
