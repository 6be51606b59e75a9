import Cryptography
import Reactor
import Synchronization
import TLSEngine

/// The listeners of a simulator once it has started, for use from any thread.
final class Started: Sendable {
    private struct State {
        var listeners: LoopBound<AppleListeners>
        var addresses: SimulatorAddresses
        var valid: TLSContext
        var expired: TLSContext
    }

    private let state = Mutex<State?>(nil)

    /// Nil until it has started.
    var addresses: SimulatorAddresses? { state.withLock { $0?.addresses } }

    func begin(
        _ listeners: LoopBound<AppleListeners>,
        at addresses: SimulatorAddresses,
        showing valid: TLSContext,
        or expired: TLSContext
    ) {
        state.withLock {
            $0 = State(listeners: listeners, addresses: addresses, valid: valid, expired: expired)
        }
    }

    /// Shows an expired certificate, or the valid one again; drops every connection.
    func show(expired: Bool) async {
        guard let state = state.withLock({ $0 }) else { return }
        let context = expired ? state.expired : state.valid
        // Only a simulator that is ending takes no more work, and it shows nothing to anybody.
        try? await state.listeners.loop.perform { state.listeners.value.show(context) }
    }

    /// Stops listening and drops every connection.
    func close() {
        guard let listeners = state.withLock({ $0?.listeners }) else { return }
        listeners.loop.execute { listeners.value.close() }
    }
}

extension SelfSignedCertificate {
    /// What a server shows that is up to date, and one that is not.
    func contexts() throws(TLSError) -> (valid: TLSContext, expired: TLSContext) {
        (
            try TLSContext.server(certificatePEM: certificatePEM, privateKeyPEM: privateKeyPEM),
            try TLSContext.server(certificatePEM: expiredCertificatePEM, privateKeyPEM: privateKeyPEM)
        )
    }
}
