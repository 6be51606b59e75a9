import NIOCore

/// The body of the request that is being answered, as far as it has arrived. It is pure.
struct IncomingBody {
    /// How many bytes are kept for a reader that has not asked for them yet. Then the connection reads no more.
    private static let mostUnasked = 64 << 10

    /// What its reader asks for.
    private enum Demand {
        /// All of it, up to a limit.
        case whole(limit: Int)
        /// What has arrived, and at its end nothing.
        case part
    }

    typealias Reader = CheckedContinuation<ByteBuffer, any Error>

    /// The reader to resume, and with what.
    struct Outcome {
        let reader: Reader
        let result: Result<ByteBuffer, any Error>
    }

    private var bytes = ByteBuffer()
    /// How many bytes are kept for the reader.
    private var mostKept = mostUnasked
    private var reader: (demand: Demand, continuation: Reader)?
    /// Whether a reader of parts is told that this is the end.
    private var isStopped = false
    private(set) var isComplete = false
    private var failure: (any Error)?
    /// Whether nobody reads it any more.
    private var isDiscarded = false

    /// Whether more of it may be read from the connection.
    var takesMore: Bool { isDiscarded || reader != nil || bytes.readableBytes < mostKept }

    mutating func append(_ part: consuming ByteBuffer) -> Outcome? {
        guard !isDiscarded else { return nil }
        bytes.writeBuffer(&part)
        return settle()
    }

    mutating func end() -> Outcome? {
        isComplete = true
        return settle()
    }

    /// No more of it will come.
    mutating func fail(_ error: any Error) -> Outcome? {
        if failure == nil { failure = error }
        return settle()
    }

    mutating func read(upTo limit: Int, _ continuation: Reader) -> Outcome? {
        reader = (.whole(limit: limit), continuation)
        return settle()
    }

    /// Asks for what has arrived, or else for what arrives next. No bytes: the end.
    ///
    /// - `most`: how many bytes may wait for the next call.
    mutating func readPart(keeping most: Int, _ continuation: Reader) -> Outcome? {
        mostKept = most
        reader = (.part, continuation)
        return settle()
    }

    /// What has arrived for a reader of parts that does not wait. It may be nothing, also before the end.
    ///
    /// - `most`: how many bytes may wait for the next call.
    mutating func takeArrived(keeping most: Int) -> ByteBuffer {
        mostKept = most
        guard !isStopped else { return ByteBuffer() }
        defer { bytes = ByteBuffer() }
        return bytes
    }

    /// A reader of parts gets no more.
    mutating func stop() -> Outcome? {
        isStopped = true
        return settle()
    }

    /// The answer is written. The rest is read and forgotten.
    mutating func discard() {
        isDiscarded = true
        bytes = ByteBuffer()
    }

    private mutating func settle() -> Outcome? {
        guard let (demand, continuation) = reader else { return nil }
        switch demand {
        case .whole(let limit):
            guard let result = whole(upTo: limit) else { return nil }
            reader = nil
            discard()
            return Outcome(reader: continuation, result: result)
        case .part:
            guard let result = part() else { return nil }
            reader = nil
            bytes = ByteBuffer()
            return Outcome(reader: continuation, result: result)
        }
    }

    private func whole(upTo limit: Int) -> Result<ByteBuffer, any Error>? {
        if bytes.readableBytes > limit { return .failure(BodyTooLarge(limit: limit)) }
        if isComplete { return .success(bytes) }
        return failure.map { .failure($0) }
    }

    private func part() -> Result<ByteBuffer, any Error>? {
        if isStopped { return .success(ByteBuffer()) }
        if isComplete || bytes.readableBytes > 0 { return .success(bytes) }
        return failure.map { .failure($0) }
    }
}

extension IncomingBody.Outcome {
    func resume() { reader.resume(with: result) }
}
