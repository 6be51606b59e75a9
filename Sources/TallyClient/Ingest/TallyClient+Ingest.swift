package import APITypes
package import ActivityModel
import JSON

extension TallyClient {
    /// Sends operations as they come, and hands each result to `answered`, in the order of the lines.
    ///
    /// Where the server ends a stream, or the connection breaks, the next stream begins with the first line that has no
    /// result. So each line needs an `idempotency_key`: otherwise it may be carried out twice.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - lines: the operations as JSON, without line ends. Empty ones are skipped.
    ///   - window: how many lines may wait for a result. Then no more are asked for.
    ///   - answered: gets each result.
    /// - Throws: ``ClientError`` if there was no result within the deadline; what `lines` and `answered` throw.
    package func ingest<Lines: AsyncSequence & Sendable>(
        _ app: BundleID,
        _ lines: Lines,
        window: Int = 4_000,
        answered: @escaping @Sendable (BatchResult) async throws -> Void
    ) async throws where Lines.Element == [UInt8] {
        let queue = IngestQueue(window: window)
        // Not a child, because it may wait for a line that never comes.
        let source = Task {
            do {
                for try await line in lines where !line.isEmpty { await queue.add(line) }
                await queue.end()
            } catch {
                await queue.end(error)
            }
        }
        defer { source.cancel() }
        do {
            try await send(app, queue, answered)
        } catch {
            await queue.end()
            throw error
        }
    }

    /// The same for operations that the caller has made. One without a key gets one.
    package func ingest<Operations: AsyncSequence & Sendable>(
        _ app: BundleID,
        operations: Operations,
        answered: @escaping @Sendable (BatchResult) async throws -> Void
    ) async throws where Operations.Element == BatchOperation {
        let lines = operations.map { operation in
            var operation = operation
            operation.idempotencyKey = operation.idempotencyKey ?? Self.newIdempotencyKey()
            return operation.json.serialized()
        }
        try await ingest(app, lines, answered: answered)
    }

    private func send(
        _ app: BundleID,
        _ queue: IngestQueue,
        _ answered: @escaping @Sendable (BatchResult) async throws -> Void
    ) async throws {
        var failures = 0
        var progress = ContinuousClock.now
        while await queue.hasMore() {
            var failure = ClientError(code: .unreachable, detail: "the server ends every stream").retryable()
            let before = await queue.answers
            do {
                try await exchange(try await openIngest(app), queue, answered)
            } catch let error as ClientError where error.isRetryable {
                failure = error
            }
            if await queue.answers > before {
                failures = 0
                progress = .now
                continue
            }
            guard let retry = configuration.retry else { throw failure }
            failures += 1
            let jitter = Double.random(in: 0...1)
            let wait = retry.delay(afterFailures: failures, jitter: jitter, retryAfter: failure.retryAfter)
            guard progress.duration(to: .now) + wait < configuration.deadline else { throw failure }
            try await ContinuousClock().sleep(for: wait)
        }
        if let failure = await queue.failure { throw failure }
    }

    /// Sends and reads until the server ends the stream.
    private func exchange(
        _ connection: IngestConnection,
        _ queue: IngestQueue,
        _ answered: @Sendable (BatchResult) async throws -> Void
    ) async throws {
        await queue.connect()
        async let upload: Void = Self.send(queue, to: connection)
        do {
            for try await result in connection.answers {
                guard await queue.answered() else {
                    throw ClientError(code: .badAnswer, detail: "there are more results than lines")
                }
                try await answered(result)
            }
        } catch {
            await queue.disconnect()
            connection.hangUp()
            await upload
            throw error
        }
        await queue.disconnect()
        connection.hangUp()
        await upload
    }

    private static func send(_ queue: IngestQueue, to connection: IngestConnection) async {
        while let lines = await queue.next() {
            do {
                try await connection.send(lines)
            } catch {
                // Whoever reads the answers gets the error.
                return
            }
        }
        connection.finish()
    }
}
