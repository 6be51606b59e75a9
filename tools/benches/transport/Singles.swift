import APNSTransport

/// One push at a time, each waiting for the one before: how long a call takes when nothing else is under way.
struct Singles: Sendable {
    let client: APNSClient
    let measurement: Measurement
    let count: Int

    struct Latencies: Codable {
        let accepted: Int
        /// Microseconds from the call to the answer.
        let p50: Double
        let p90: Double
        let p99: Double
    }

    func run() async -> Latencies {
        var tokens = TokenStream(seed: 0)
        var times: [Double] = []
        var accepted = 0
        for _ in 0..<count {
            let batch = measurement.batch(tokens: tokens.next(1))
            let began = ContinuousClock.now
            let outcome = await client.send(batch)
            times.append(began.duration(to: .now) / .microseconds(1))
            accepted += outcome.accepted
        }
        times.sort()
        func quantile(_ share: Double) -> Double { times[min(times.count - 1, Int(Double(times.count) * share))] }
        return Latencies(accepted: accepted, p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99))
    }
}
