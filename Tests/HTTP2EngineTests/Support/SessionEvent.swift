@testable import HTTP2Engine

/// Everything that a client session reports, in one order.
enum SessionEvent {
    case responded(tag: UInt64, HTTP2Response)
    case settings(maximumConcurrentStreams: Int)
    case goAway(lastStreamID: Int32, code: HTTP2ErrorCode, debugData: [UInt8])
    case pong(UInt64)
    case failed(tag: UInt64, failure: HTTP2StreamFailure)

    init(_ event: ClientEvent) {
        self =
            switch event {
            case .settings(let limit): .settings(maximumConcurrentStreams: limit)
            case .goAway(let last, let code, let data): .goAway(lastStreamID: last, code: code, debugData: data)
            case .pong(let number): .pong(number)
            case .failed(let tag, let failure): .failed(tag: tag, failure: failure)
            }
    }
}

extension ClientSession {
    @discardableResult
    func takeEvents(_ body: (SessionEvent) -> Void) -> Bool {
        takeEvents {
            body(.responded(tag: $0, $1))
        } _: {
            body(SessionEvent($0))
        }
    }
}
