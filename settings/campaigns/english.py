"""An example on the open web: version control, from three documentation sites."""

TOPIC = "version control:2, git:2, branch, commit, merge, repository, rebase, pull request"
TOPIC_SEEDS = [
    "https://git-scm.com/docs",
    "https://docs.github.com/en/get-started/using-git",
    "https://www.mercurial-scm.org/guide",
]
CRAWL_MAX_PAGES = 2_000
FRONTIER_MAX_PAGES_PER_SERVER = 500
