"""What one visitor works with: settings in the link, profiles in the session, and what all visitors share."""
