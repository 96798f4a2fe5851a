"""Crawls in virtual time: a made-up web with true latencies, the product's ranking formulas, and what no schedule can beat.

`web` makes the web, `crawl` crawls it, `ranking` says by which formulas, `bound` what a clairvoyant could bring home at most.
Nothing here sleeps, opens a socket or asks a clock: the same seed gives the same figures everywhere.
"""
