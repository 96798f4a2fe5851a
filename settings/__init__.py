"""Constants only. It imports nothing of the project, and nothing imports it but Scrapy."""
