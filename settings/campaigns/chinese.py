"""开放网络上的中文示例：消息队列与微服务。 An example on the open web, in Chinese: message queues and microservices."""

TOPIC = "消息队列:2, RPC:2, 微服务, 分布式, 服务治理, 注册中心"
TOPIC_SEEDS = [
    "https://cn.dubbo.apache.org/zh-cn/",
    "https://rocketmq.apache.org/zh/",
    "https://www.sofastack.tech/",
]
CRAWL_MAX_PAGES = 2_000
FRONTIER_MAX_PAGES_PER_SERVER = 500
# Chinese sites link to one another seldom, so go further through pages that are off topic.
TOPIC_TUNNEL = 4
