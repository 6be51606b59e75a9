import APNSTransport

/// The interface that the fan-out uses: chunks of pushes with one body, a few of them under way at a time.
struct Batches: Sendable {
    let client: APNSClient
    let measurement: Measurement
    let count: Int
    let chunk: Int
    let underWay: Int

    /// Sends everything, and tells what became of it.
    func run() async -> Tally {
        let progress = Progress(count: count)
        await withTaskGroup { group in
            for worker in 0..<underWay {
                group.addTask {
                    var tokens = TokenStream(seed: UInt64(worker) << 32)
                    while let size = progress.take(chunk) {
                        progress.settle(await client.send(measurement.batch(tokens: tokens.next(size))))
                    }
                }
            }
        }
        return progress.tally
    }
}
