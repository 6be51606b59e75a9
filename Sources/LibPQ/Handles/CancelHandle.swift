import CLibPQ

/// What it takes to ask the server, by a connection of its own, to give up what another connection is doing.
@safe
final class CancelHandle: @unchecked Sendable {
    // Sendable without a check by the compiler: a PGcancel is never changed, and libpq's manual allows its use from any
    // thread, also while its connection is in use.
    private let raw: OpaquePointer

    /// Takes ownership.
    init(owning raw: OpaquePointer) { unsafe self.raw = raw }

    deinit { unsafe PQfreeCancel(raw) }

    /// Sends the request. Blocks until the server has read it; whether anything was cancelled is not known then.
    func send() {
        var message = [CChar](repeating: 0, count: 256)
        // The server may be gone, which ends the work as well: there is nothing to be told.
        _ = unsafe PQcancel(raw, &message, Int32(message.count))
    }
}
