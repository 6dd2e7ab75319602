"""The page: any game in the browser, against any agent or another person. Needs the extra `web`."""
