import CLibPQ

/// Asks the server, over a separate connection, to cancel the current work of another connection.
@safe
final class CancelHandle: @unchecked Sendable {
    // Unchecked, but correct: a PGcancel never changes. libpq's manual allows its use from any thread, even while its
    // connection is in use.
    private let raw: OpaquePointer

    /// Takes ownership.
    init(owning raw: OpaquePointer) { unsafe self.raw = raw }

    deinit { unsafe PQfreeCancel(raw) }

    /// Sends the request. It blocks until the server has read it. Whether the server has cancelled anything remains
    /// unknown.
    func send() {
        var message = [CChar](repeating: 0, count: 256)
        // A failure does not matter: if the server is gone, the work has ended too.
        _ = unsafe PQcancel(raw, &message, Int32(message.count))
    }
}
