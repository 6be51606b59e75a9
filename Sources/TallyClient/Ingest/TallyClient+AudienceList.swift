package import APITypes
package import ActivityModel
import NIOCore
import Synchronization

extension TallyClient {
    /// How many bytes of lines one part of the body has.
    private static let listPart = 32 << 10

    /// Adds a list of any length to an activity's audience. Tally stores it in pages, and answers at its end.
    ///
    /// It connects before it asks for the first line, and retries that. Later it retries nothing, because `lines` may be
    /// gone. After a failure, call it again with the same key and the whole list: Tally skips what it has.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - id: the activity.
    ///   - lines: the users and devices as JSON, without line ends.
    ///   - idempotencyKey: the key of the whole list. Without one, Tally stores all lines again after a failure, which
    ///     does no harm.
    ///   - sent: gets the number of lines that are handed to the system so far.
    /// - Returns: how many devices the audience has, and what Tally skipped.
    /// - Throws: ``ClientError``; what `lines` throws. Then the list ends there, and Tally does not take it for complete.
    package func addToAudience<Lines: AsyncSequence & Sendable>(
        _ app: BundleID,
        _ id: ActivityID,
        lines: Lines,
        idempotencyKey: String? = nil,
        sent: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws -> AudienceCounts where Lines.Element == [UInt8] {
        let path: APIPath = "/v1/apps/\(app)/activities/\(id)/audience"
        var call = APICall(method: "POST", path: path.text)
        call.streamedBody = "application/x-ndjson"
        if let idempotencyKey { call.repeating = .byKey(idempotencyKey) }
        let request = call
        let upload = try await self.upload(request)
        let failure = Mutex<(any Error)?>(nil)
        // Not a child, because it may wait for a line that never comes.
        let sending = Task {
            do {
                try await Self.send(lines, by: upload, sent)
                // The answer ends this wait.
                try await ContinuousClock().sleep(for: Self.longestRequest)
                failure.withLock { $0 = clientError(.timedOut, of: request) }
            } catch HTTPFailure.timedOut {
                failure.withLock { $0 = clientError(.timedOut, of: request) }
            } catch is HTTPFailure {
                // Whoever waits for the answer gets the same error, or a refusal that came before.
                return
            } catch {
                failure.withLock { $0 = error }
            }
            upload.hangUp()
        }
        defer { sending.cancel() }
        do {
            return try await answer(AudienceCounts.self, to: request, by: upload)
        } catch {
            // A refusal says more than the list that it has ended.
            if error.problem == nil, let cause = failure.withLock({ $0 }) { throw cause }
            throw error
        }
    }

    private static func send<Lines: AsyncSequence & Sendable>(
        _ lines: Lines,
        by upload: HTTPUpload,
        _ sent: @Sendable (Int) -> Void
    ) async throws where Lines.Element == [UInt8] {
        var part = ByteBuffer()
        var count = 0
        for try await line in lines {
            part.writeBytes(line)
            part.writeString("\n")
            count += 1
            guard part.readableBytes >= listPart else { continue }
            try await upload.send(part, within: longestRequest)
            part = ByteBuffer()
            sent(count)
        }
        // A list that was cancelled is not complete.
        try Task.checkCancellation()
        if part.readableBytes > 0 {
            try await upload.send(part, within: longestRequest)
            sent(count)
        }
        upload.endBody()
    }
}
