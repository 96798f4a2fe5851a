"""One module per campaign: topic, seeds, limits, and whatever else differs from settings/base.py. Constants only.

``scrapy crawl topic -s CAMPAIGN=<module's name>`` loads one. ``_template.py`` is a start for your own.
"""
