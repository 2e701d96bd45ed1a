"""What the bench `crawl` has Scrapy do: fetch every page of the seed's host and keep nothing."""

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Bench(CrawlSpider):
    name = "bench"
    allowed_domains = ["127.0.0.1"]
    rules = [Rule(LinkExtractor())]
    custom_settings = {
        # no pause, and as many connections as the host takes
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "ROBOTSTXT_OBEY": True,
        # what it would do beside the crawl
        "COOKIES_ENABLED": False,
        "LOG_ENABLED": False,
        "MEMUSAGE_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "EXTENSIONS": {"scrapy.extensions.logstats.LogStats": None},
    }

    def __init__(self, seed, **others):
        super().__init__(**others)
        self.start_urls = [seed]
