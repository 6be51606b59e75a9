import APITypes
import ActivityModel
import HTTP1Server
import Intake
import JSON
import NIOCore
import Registry
import ServiceLifecycle
import Store

/// A stream of operations from one caller, and of their results back to it, in the same order.
///
/// While one group of lines is carried out, the next is read, and no more. So a caller that sends faster than the
/// database commits, or that does not read the answers, is not read.
struct IngestStream: Sendable {
    let app: BundleID
    let group: OperationGroup
    let principal: Principal
    let terms: StreamTerms
    let incoming: HTTPCall
    let limits: RateLimits
    let turns: ReadingTurns
    var times = Times()

    struct Times: Sendable {
        /// How long the caller may send nothing. It is shorter than the timeouts of the server and of common proxies.
        var silence: Duration = .seconds(50)
        /// How long a write may wait for the caller.
        var patience: Duration = .seconds(30)
        /// How often the key is looked up again.
        var authentication: Duration = .seconds(15)
    }

    /// Writes the results until the stream ends: the caller has sent all, is silent or lost its key, a line is too
    /// long, or the daemon stops. What was not answered can be sent again.
    @concurrent
    func answer(to writer: any BodyWriter) async throws {
        let groups = LineGroups(
            incoming,
            mostLines: min(BatchRequest.maximumOperations, limits.groupSize ?? .max),
            longestLine: terms.longestLine,
            turns: turns
        ) { [group] (line: [UInt8]) throws(Problem) -> KeyedOperation in
            let operation = try BatchOperation(json: try RouteCall.json(line, "line"))
            return try group.permitted(operation)
        }
        try await withGracefulShutdownHandler {
            try await answer(groups, to: writer)
        } onGracefulShutdown: {
            groups.stop()
        }
    }

    private func answer(_ groups: LineGroups<KeyedOperation>, to writer: any BodyWriter) async throws {
        let reading = WaitWatch(patience: times.silence)
        let writing = WaitWatch(patience: times.patience)
        async let watchingReads: Void = reading.run { groups.stop() }
        async let watchingWrites: Void = writing.run(giveUp: terms.hangUp ?? {})
        var checked = ContinuousClock.now
        var next = try await groups.next(reading)
        while let present = next, !groups.isStopped {
            if checked.duration(to: .now) >= times.authentication {
                guard await isStillPermitted() else {
                    var last: [UInt8] = []
                    append(BatchResult(.unauthorized()), present.first, to: &last)
                    try await writer.write(ByteBuffer(bytes: last))
                    break
                }
                checked = .now
            }
            guard await isAllowed(present.values.count) else { break }
            async let following = present.isLast ? nil : groups.next(reading)
            let answers = await carryOut(present)
            writing.beginWaiting()
            do {
                try await writer.write(answers)
            } catch {
                // Nobody waits for the next group then.
                groups.stop()
                throw error
            }
            writing.endWaiting()
            next = try await following
        }
        reading.end()
        writing.end()
        _ = await (watchingReads, watchingWrites)
    }

    /// Whether the caller still has its key. During an outage of the database nobody knows, and nothing is stored.
    private func isStillPermitted() async -> Bool {
        do {
            return try await terms.authenticateAgain() == principal
        } catch {
            return group.service.problem(for: error) != nil
        }
    }

    /// Waits until the key's rate allows the operations. False if the daemon stops before.
    private func isAllowed(_ count: Int) async -> Bool {
        while let wait = limits.take(principal, count) {
            do {
                try await cancelWhenGracefulShutdown { try await Task.sleep(for: wait) }
            } catch {
                return false
            }
        }
        return true
    }

    /// - Returns: A line for each line.
    private func carryOut(_ lines: LineGroup<KeyedOperation>) async -> ByteBuffer {
        guard lines.values.count > Self.many else { return await answers(to: lines) }
        return await withTaskExecutorPreference(globalConcurrentExecutor) { await answers(to: lines) }
    }

    /// More operations than this would delay the other connections of the event loop.
    private static let many = 16

    private func answers(to lines: LineGroup<KeyedOperation>) async -> ByteBuffer {
        let results = await group.carryOut(lines.values.compactMap { $0 }, app, waited: .zero)
        var next = results.makeIterator()
        var answers: [UInt8] = []
        answers.reserveCapacity(lines.values.count * Self.usualAnswer)
        for (place, operation) in lines.values.enumerated() {
            if operation != nil, let result = next.next() {
                append(result, lines.first + place, to: &answers)
            } else {
                answers.append(UInt8(ascii: "\n"))
            }
        }
        return ByteBuffer(bytes: answers)
    }

    /// About as many bytes as the answer to an accepted change has.
    private static let usualAnswer = 128

    /// Appends a result as a line. A problem says which line it is about.
    private func append(_ result: BatchResult, _ number: Int, to answers: inout [UInt8]) {
        var result = result
        if result.status >= 400, case .object(var problem) = result.body {
            problem["line"] = .number(JSONNumber(number))
            result.body = .object(problem)
        }
        result.json.write(to: &answers)
        answers.append(UInt8(ascii: "\n"))
    }
}
