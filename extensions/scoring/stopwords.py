"""Words that say nothing about a topic, English and Chinese.

Short on purpose: a word belongs here only if nobody would look for it. So ``go``, ``c`` and ``r``, which are languages, and ``re``, a module, do not.
"""

from __future__ import annotations

ENGLISH = frozenset(
    """
    a about above after again against all also am an and any are aren't as at be because been before being below between both but by
    can can't cannot could couldn't did didn't do does doesn't doing don't down during each either else etc few for from further had hadn't
    has hasn't have haven't having he he'd he'll he's her here here's hers herself him himself his how how's however i i'd i'll i'm i've
    if in into is isn't it it'd it'll it's its itself just let's may me might more most must mustn't my myself neither no nor not of off on
    once only onto or other ought our ours ourselves out over own per quite rather s same shall shan't she she'd she'll she's should
    shouldn't since so some such t than that that's the their theirs them themselves then there there's these they they'd they'll they're
    they've this those though through thus to too under until unless up upon us very via was wasn't we we'd we'll we're we've were weren't
    what what's when when's where where's whether which while who who's whom whose why why's will with within without won't would wouldn't
    yet you you'd you'll you're you've your yours yourself yourselves
    """.split()  # noqa: SIM905 - two hundred quoted words would be no list to read
)

CHINESE = frozenset(
    """
    的 了 和 是 在 也 就 都 而 及 与 或 着 之 于 以 为 其 被 把 让 给 向 从 到 对 但 并 且 若 如 则 所 者 又 还 很 更 最 太 再 才 只 不 没 没有 无
    有 个 们 我 你 您 他 她 它 我们 你们 您们 他们 她们 它们 自己 大家 这 那 这个 那个 这些 那些 这样 那样 这里 那里 这种 那种 哪 哪些 哪个 什么 怎么 怎样
    如何 为何 为什么 谁 多少 几 一 一个 一些 一种 一样 一下 每 每个 各 各种 某 某些 某个 吗 呢 吧 啊 呀 哦 嗯 啦 地 得 过 将 会 能 可 要 应 该 须 可以
    可能 能够 应该 应当 必须 需要 已 已经 正在 曾经 因为 所以 因此 由于 如果 虽然 但是 然而 不过 而且 并且 或者 以及 及其 还是 不是 就是 也是 只是 只有
    只要 除了 除非 否则 关于 对于 至于 通过 根据 按照 为了 以便 此 此外 另外 其中 其他 其它 同时 然后 之后 之前 以后 以前 当 时 时候 等 等等 比 比如
    例如 即 即使 上 下 中 里 来 去 说 看 做 用 由 自 同 跟 像 使 使得 非常 十分 比较
    """.split()  # noqa: SIM905 - two hundred quoted words would be no list to read
)

STOP_WORDS = ENGLISH | CHINESE
