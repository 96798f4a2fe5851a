"""What a campaign runs and what an operator sees: spiders, items, pipelines, the live panel, commands."""
