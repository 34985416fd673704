"""Two tasks of the Fetch arm of gymnasium-robotics, through the gymnasium bridge, and scripted experts for them."""
