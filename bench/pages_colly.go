// A peer of bench/pages.py: a site walked by Colly, which stores nothing.
//
//	go run pages_colly.go http://127.0.0.1:8081/index.html 8
package main

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/gocolly/colly/v2"
)

func main() {
	atOnce, _ := strconv.Atoi(os.Args[2])
	seed, _ := url.Parse(os.Args[1])
	walk := colly.NewCollector(colly.Async(true))
	walk.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: atOnce})
	var pages int64
	walk.OnResponse(func(*colly.Response) { atomic.AddInt64(&pages, 1) })
	walk.OnHTML("a[href]", func(link *colly.HTMLElement) {
		address := link.Request.AbsoluteURL(link.Attr("href"))
		if found, err := url.Parse(address); err == nil && found.Host == seed.Host {
			found.Fragment = ""
			link.Request.Visit(found.String())
		}
	})
	walk.Visit(os.Args[1])
	walk.Wait()
	fmt.Println(pages)
}
