import CoreMetrics
import Foundation
import Metrics
import Synchronization
import Testing

@testable import HTTPAPI

@Suite("Prometheus metrics")
struct PrometheusMetricsTests {
    private let metrics = PrometheusMetrics()

    @Test("Counters add up per set of labels, and end in _total")
    func counters() {
        Counter(label: "tally.pushes", dimensions: [("priority", "10"), ("event", "update")], factory: metrics)
            .increment(by: 2)
        Counter(label: "tally.pushes", dimensions: [("event", "update"), ("priority", "10")], factory: metrics)
            .increment()
        Counter(label: "tally.pushes", factory: metrics).increment()
        #expect(
            metrics.render() == """
                # TYPE tally_pushes_total counter
                tally_pushes_total 1
                tally_pushes_total{event="update",priority="10"} 3

                """
        )
    }

    @Test("A metric of the daemon has a line that says what it is")
    func help() {
        Counter(label: "tally.http.requests", factory: metrics).increment()
        #expect(
            metrics.render() == """
                # HELP tally_http_requests_total Requests to the API. The route is the path with braces, or unmatched.
                # TYPE tally_http_requests_total counter
                tally_http_requests_total 1

                """
        )
        for text in MetricHelp.texts.values {
            #expect(text.hasSuffix(".") && !text.contains(where: { $0.isNewline || $0 == "\\" }), "\(text)")
        }
    }

    @Test("A counter stays at its largest value")
    func saturation() {
        let counter = Counter(label: "c_total", factory: metrics)
        counter.increment(by: Int64.max)
        counter.increment(by: 5)
        #expect(metrics.render().contains("c_total \(Int64.max)\n"))
    }

    @Test("Gauges show the last value", arguments: [(2.0, "2"), (0.25, "0.25"), (-1, "-1"), (.infinity, "+Inf")])
    func gauges(value: Double, text: String) {
        let gauge = Gauge(label: "pool.size", factory: metrics)
        gauge.record(7)
        gauge.record(value)
        #expect(metrics.render() == "# TYPE pool_size gauge\npool_size \(text)\n")
    }

    @Test("A reading is made for each page")
    func readings() {
        let value = Atomic(1)
        metrics.gauge("read") { Double(value.load(ordering: .relaxed)) }
        metrics.counter("read_total") { Double(value.load(ordering: .relaxed)) / 2 }
        for number in 1...2 {
            value.store(number, ordering: .relaxed)
            let half = number == 1 ? "0.5" : "1"
            #expect(
                metrics.render() == """
                    # TYPE read gauge
                    read \(number)
                    # TYPE read_total counter
                    read_total \(half)

                    """
            )
        }
    }

    @Test("The figures of the process are those of the kernel")
    func process() throws {
        metrics.readProcess()
        func value(_ name: String) throws -> Double {
            let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name + " ") }
            return try #require(line.flatMap { Double($0.dropFirst(name.count + 1)) })
        }
        var files: [FileHandle] = []
        for _ in 1...200 { files.append(try #require(FileHandle(forReadingAtPath: "/dev/null"))) }
        #expect(try value("process_open_fds") > 200)
        for file in files { try file.close() }
        // This test's own memory is a part of it.
        let block = [UInt8](repeating: 1, count: 32 << 20)
        #expect(try value("process_resident_memory_bytes") > Double(block.count))
        let spent = try value("process_cpu_seconds_total")
        var sum = 0.0
        while try value("process_cpu_seconds_total") <= spent { sum += Double(block.reduce(0) { $0 &+ $1 }) }
        #expect(sum >= 0)
        let start = try value("process_start_time_seconds")
        let now = Date().timeIntervalSince1970
        #expect(start <= now)
        // A process of the tests lives for hours at most; a wrong unit is years away.
        #expect(start > now - 86_400)
    }

    @Test("Meters go up and down")
    func meters() {
        let meter = Meter(label: "open", factory: metrics)
        meter.set(3)
        meter.increment(by: 2.5)
        meter.decrement()
        #expect(metrics.render() == "# TYPE open gauge\nopen 4.5\n")
    }

    @Test("Timers are histograms in seconds; a bound is inclusive, buckets are cumulative")
    func timers() {
        let timer = Timer(label: "accept", factory: metrics)
        timer.recordMilliseconds(1)
        timer.recordMilliseconds(2)
        timer.recordSeconds(60)
        let lines = metrics.render().split(separator: "\n").map(String.init)
        #expect(lines.first == "# TYPE accept_seconds histogram")
        #expect(lines.contains(#"accept_seconds_bucket{le="0.0005"} 0"#))
        #expect(lines.contains(#"accept_seconds_bucket{le="0.001"} 1"#))
        #expect(lines.contains(#"accept_seconds_bucket{le="0.0025"} 2"#))
        #expect(lines.contains(#"accept_seconds_bucket{le="10"} 2"#))
        #expect(lines.contains(#"accept_seconds_bucket{le="+Inf"} 3"#))
        #expect(lines.contains("accept_seconds_sum 60.003"))
        #expect(lines.contains("accept_seconds_count 3"))
    }

    @Test("Recorders are histograms of counts, with their labels before le")
    func recorders() {
        Recorder(label: "batch", dimensions: [("kind", "start")], factory: metrics).record(128)
        let text = metrics.render()
        #expect(text.contains(#"batch_bucket{kind="start",le="100"} 0"#))
        #expect(text.contains(#"batch_bucket{kind="start",le="200"} 1"#))
        #expect(text.contains(#"batch_sum{kind="start"} 128"#))
    }

    @Test("Names and values become what Prometheus reads")
    func escaping() {
        Gauge(label: "9 lives-left", dimensions: [("app-id", "a\"b\\c\nd")], factory: metrics).record(1)
        #expect(metrics.render() == "# TYPE _9_lives_left gauge\n_9_lives_left{app_id=\"a\\\"b\\\\c\\nd\"} 1\n")
    }

    @Test("A destroyed metric is gone")
    func destruction() {
        let gauge = Gauge(label: "a", factory: metrics)
        Gauge(label: "b", factory: metrics).record(1)
        gauge.destroy()
        #expect(metrics.render() == "# TYPE b gauge\nb 1\n")
    }
}
