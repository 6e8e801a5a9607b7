"""All listed profiles side by side: latency or cost on every GPU."""
