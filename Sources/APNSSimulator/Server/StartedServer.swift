import Cryptography
import Reactor
import Synchronization
import TLSEngine

/// The listeners of a started simulator, for use from any thread.
final class StartedServer: Sendable {
    private struct State {
        var listeners: LoopBound<AppleListeners>
        var addresses: SimulatorAddresses
        var valid: TLSContext
        var expired: TLSContext
    }

    private let state = Mutex<State?>(nil)

    /// Nil before the start.
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

    /// Switches to an expired certificate, or back to the valid one. Closes all connections.
    func show(expired: Bool) async {
        guard let state = state.withLock({ $0 }) else { return }
        let context = expired ? state.expired : state.valid
        // Fails only while the simulator stops, when no client needs a certificate.
        try? await state.listeners.loop.perform { state.listeners.value.show(context) }
    }

    /// Stops listening and closes all connections.
    func close() {
        guard let listeners = state.withLock({ $0?.listeners }) else { return }
        listeners.loop.execute { listeners.value.close() }
    }
}

extension SelfSignedCertificate {
    /// Server contexts with the valid and the expired certificate.
    func contexts() throws(TLSError) -> (valid: TLSContext, expired: TLSContext) {
        (
            try TLSContext.server(certificatePEM: certificatePEM, privateKeyPEM: privateKeyPEM),
            try TLSContext.server(certificatePEM: expiredCertificatePEM, privateKeyPEM: privateKeyPEM)
        )
    }
}
