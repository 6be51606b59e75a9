import NIOCore

/// The body of the request that is being answered, as far as it has arrived. It is pure.
struct IncomingBody {
    /// How many bytes are kept for a reader that has not asked for them yet. Then the connection reads no more.
    private static let mostUnasked = 64 << 10

    typealias Reader = CheckedContinuation<ByteBuffer, any Error>

    /// The reader to resume, and with what.
    struct Outcome {
        let reader: Reader
        let result: Result<ByteBuffer, any Error>
    }

    private var bytes = ByteBuffer()
    private var reader: (limit: Int, continuation: Reader)?
    private(set) var isComplete = false
    private var failure: (any Error)?
    /// Whether nobody reads it any more.
    private var isDiscarded = false

    /// Whether more of it may be read from the connection.
    var takesMore: Bool { isDiscarded || reader != nil || bytes.readableBytes < Self.mostUnasked }

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
        reader = (limit, continuation)
        return settle()
    }

    /// The answer is written. The rest is read and forgotten.
    mutating func discard() {
        isDiscarded = true
        bytes = ByteBuffer()
    }

    private mutating func settle() -> Outcome? {
        guard let (limit, continuation) = reader else { return nil }
        let result: Result<ByteBuffer, any Error>
        if bytes.readableBytes > limit {
            result = .failure(BodyTooLarge(limit: limit))
        } else if isComplete {
            result = .success(bytes)
        } else if let failure {
            result = .failure(failure)
        } else {
            return nil
        }
        reader = nil
        discard()
        return Outcome(reader: continuation, result: result)
    }
}

extension IncomingBody.Outcome {
    func resume() { reader.resume(with: result) }
}
